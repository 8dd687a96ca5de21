// The message against the layout that the D-Bus specification gives. That systemd understands it
// is shown by tests/integration/rootless_test.py.
#include "sys/systemd_scope.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/unique_fd.h"

namespace glovebox::sys {
namespace {

std::uint32_t number_at(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

TEST(SystemdScope, TheLengthsInTheMessageAreThoseOfItsParts) {
  const std::vector<std::byte> message = start_scope_message("glovebox-launcher-7.scope", 7);
  ASSERT_GT(message.size(), 16u);
  EXPECT_EQ(message[0], std::byte{'l'});
  EXPECT_EQ(message[1], std::byte{1});
  const std::size_t body = number_at(message, 4);
  const std::size_t fields = number_at(message, 12);
  EXPECT_EQ((16 + fields + 7) / 8 * 8 + body, message.size());
  EXPECT_EQ(number_at(message, message.size() - body), std::strlen("glovebox-launcher-7.scope"));
}

// One that answers with `greeting` and then, if there is one, with `reply`.
class FakeManager {
 public:
  FakeManager(std::string greeting, std::string reply) {
    std::string pattern = (std::filesystem::temp_directory_path() / "gbx-scope-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
    path_ = dir_ + "/private";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this, hello = std::move(greeting), answer = std::move(reply)] {
      const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char buffer[4096];
      if (::recv(client.get(), buffer, sizeof buffer, 0) <= 0) return;
      (void)::send(client.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
      std::string asked;
      while (!answer.empty() && asked.find("StartTransientUnit") == std::string::npos) {
        const ssize_t got = ::recv(client.get(), buffer, sizeof buffer, 0);
        if (got <= 0) return;
        asked.append(buffer, static_cast<std::size_t>(got));
      }
      (void)::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    });
  }
  ~FakeManager() {
    thread_.join();
    std::filesystem::remove_all(dir_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string dir_;
  std::string path_;
  UniqueFd listener_;
  std::thread thread_;
};

TEST(SystemdScope, AnAnswerIsSuccessAndAnErrorIsNotAndSignalsAreSkipped) {
  std::string reply(16, '\0');
  reply[0] = 'l';
  reply[1] = 2;
  // Five bytes of body and three of fields, which are padded.
  std::string report(16 + 8 + 5, '\0');
  report[0] = 'l';
  report[1] = 4;
  report[4] = 5;
  report[12] = 3;
  const FakeManager good("OK 0123\r\n", report + reply);
  EXPECT_TRUE(start_scope(good.path(), "x.scope", 7));
  reply[1] = 3;
  const FakeManager bad("OK 0123\r\n", report + reply);
  EXPECT_FALSE(start_scope(bad.path(), "x.scope", 7));
}

TEST(SystemdScope, AManagerThatRefusesOrIsGoneIsAnError) {
  const FakeManager refuses("REJECTED EXTERNAL\r\n", "");
  EXPECT_FALSE(start_scope(refuses.path(), "x.scope", 7));
  const FakeManager falls_silent("OK", "");
  EXPECT_FALSE(start_scope(falls_silent.path(), "x.scope", 7));
  EXPECT_FALSE(start_scope("/no/such/socket", "x.scope", 7));
}

}  // namespace
}  // namespace glovebox::sys
