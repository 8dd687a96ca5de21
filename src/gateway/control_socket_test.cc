#include "gateway/control_socket.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/fd_message.h"
#include "gateway/testing/test_sockets.h"

namespace glovebox::gateway {
namespace {

using testing::run_until;

class ControlSocketTest : public ::testing::Test {
 protected:
  ControlSocketTest() {
    char name[] = "/tmp/gbx-gateway-XXXXXX";
    directory_ = ::mkdtemp(name);
    gateway_ = Gateway::make(io_, {}).value();
    control_ = std::make_unique<ControlSocket>(io_, *gateway_);
  }
  ~ControlSocketTest() override {
    control_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string path() const { return directory_ + "/gateway.sock"; }
  UniqueFd connect() {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  void ask(const UniqueFd& client, const wire::GatewayRequest& request) {
    (void)send_message(client.get(), wire::encode(request));
  }
  // The next answer; kUnavailable when the gateway has closed.
  Result<wire::GatewayReply> answer(const UniqueFd& client) {
    Result<Received> message = fail(Errc::kTimeout, "nothing came");
    run_until(io_, [&] {
      message = receive_message(client.get(), wire::kMaxGatewayMessage, 0);
      return message || message.error().code() != Errc::kResourceExhausted;
    });
    if (!message) return fail(std::move(message.error()));
    if (message->bytes.empty()) return fail(Errc::kUnavailable, "closed");
    return wire::decode_gateway_reply(message->bytes);
  }
  bool is_closed(const UniqueFd& client) {
    const auto reply = answer(client);
    return !reply &&
           (reply.error().code() == Errc::kUnavailable || reply.error().sys_errno() == ECONNRESET);
  }

  asio::io_context io_{1};
  std::string directory_;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<ControlSocket> control_;
};

TEST_F(ControlSocketTest, AnswersRequestsInTheirOrder) {
  control_->serve(listen_at(path()).value(), {.uid = ::getuid(), .only = 0});
  const UniqueFd client = connect();
  ask(client, wire::ListNetworks{1});
  ask(client, wire::ReadNetwork{2, SandboxId::make(), false});
  ask(client, wire::ListNetworks{3});
  EXPECT_EQ(std::get<wire::NetworksListed>(answer(client).value()).seq, 1u);
  EXPECT_EQ(std::get<wire::NetworkRefused>(answer(client).value()).code, Errc::kNotFound);
  EXPECT_EQ(std::get<wire::NetworksListed>(answer(client).value()).seq, 3u);
}

TEST_F(ControlSocketTest, OnlyTheOwnerCanOpenTheFile) {
  const UniqueFd socket = listen_at(path()).value();
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(ControlSocketTest, ReplacesASocketThatIsLeftThere) {
  { const UniqueFd left = listen_at(path()).value(); }
  EXPECT_TRUE(listen_at(path()));
  EXPECT_FALSE(listen_at(directory_ + "/" + std::string(200, 'x')));
}

TEST_F(ControlSocketTest, TheNewestClientCounts) {
  control_->serve(listen_at(path()).value(), {.uid = ::getuid(), .only = 0});
  const UniqueFd first = connect();
  ask(first, wire::ListNetworks{1});
  ASSERT_TRUE(answer(first));
  const UniqueFd second = connect();
  ask(second, wire::ListNetworks{2});
  EXPECT_TRUE(answer(second));
  EXPECT_TRUE(is_closed(first));
}

TEST_F(ControlSocketTest, AnotherProcessThanTheOneIsNoClient) {
  control_->serve(listen_at(path()).value(), {.uid = ::getuid(), .only = ::getpid() + 1});
  EXPECT_TRUE(is_closed(connect()));
}

TEST_F(ControlSocketTest, TheOneProcessIs) {
  control_->serve(listen_at(path()).value(), {.uid = ::getuid() + 1, .only = ::getpid()});
  const UniqueFd client = connect();
  ask(client, wire::ListNetworks{1});
  EXPECT_TRUE(answer(client));
}

TEST_F(ControlSocketTest, DropsAClientThatViolatesTheProtocol) {
  control_->serve(listen_at(path()).value(), {.uid = ::getuid(), .only = 0});
  const UniqueFd client = connect();
  const std::byte nonsense[] = {std::byte{1}, std::byte{99}};
  ASSERT_TRUE(send_message(client.get(), nonsense));
  EXPECT_TRUE(is_closed(client));
  const UniqueFd next = connect();
  ask(next, wire::ListNetworks{1});
  EXPECT_TRUE(answer(next));
}

TEST_F(ControlSocketTest, EndsWithItsOnlyClient) {
  SocketPair pair = seqpacket_pair().value();
  bool has_ended = false;
  control_->serve_only(std::move(pair.theirs), [&] { has_ended = true; });
  ask(pair.ours, wire::ListNetworks{1});
  ::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK);
  EXPECT_TRUE(answer(pair.ours));
  EXPECT_FALSE(has_ended);
  pair.ours.reset();
  EXPECT_TRUE(run_until(io_, [&] { return has_ended; }));
}

// A client that asks and does not read holds up itself only.
TEST_F(ControlSocketTest, AClientThatDoesNotReadIsNotReadFrom) {
  control_->serve(listen_at(path()).value(), {.uid = ::getuid(), .only = 0});
  const UniqueFd client = connect();
  std::uint32_t asked = 0;
  for (int quiet = 0; quiet < 20 && asked < 100'000;) {
    const auto sent = send_message(
        client.get(), wire::encode(wire::GatewayRequest(wire::ListNetworks{asked + 1})));
    sent ? (void)(++asked, quiet = 0) : (void)++quiet;
    io_.restart();
    io_.run_one_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(asked, 100'000u);
  for (std::uint32_t seq = 1; seq <= asked; ++seq) {
    const auto reply = answer(client);
    ASSERT_TRUE(reply) << seq << " of " << asked;
    ASSERT_EQ(std::get<wire::NetworksListed>(*reply).seq, seq);
  }
}

}  // namespace
}  // namespace glovebox::gateway
