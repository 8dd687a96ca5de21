#include "client/connection/server_location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

class PlaceTest : public ::testing::Test {
 protected:
  PlaceTest() {
    directory_ = "/tmp/gbx-place-XXXXXX";
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    around_.data_dir = directory_;
    std::getline(std::ifstream("/proc/self/comm"), around_.program);
  }
  ~PlaceTest() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
  }
  void serve_at(const std::string& url, long pid = ::getpid()) {
    write("serve.json", "{\"url\":\"" + url + "\",\"pid\":" + std::to_string(pid) + "}\n");
    write("admin.key", "gbx_admin\n");
  }

  std::string directory_;
  PlaceSurroundings around_;
};

TEST_F(PlaceTest, TheDataDirectoryOfARunningServerSaysItAll) {
  serve_at("http://127.0.0.1:7070");
  const Place place = find_place({}, around_).value();
  EXPECT_EQ(place.url, "http://127.0.0.1:7070");
  EXPECT_EQ(place.key, "gbx_admin");
}

TEST_F(PlaceTest, TheKeyIsNotShownWhereAnotherProgramHasTheServersNumber) {
  serve_at("http://127.0.0.1:7070");
  around_.program = "glovebox-server";
  const auto place = find_place({}, around_);
  EXPECT_TRUE(!place || place->key.empty());
}

TEST_F(PlaceTest, FlagsComeBeforeTheEnvironmentAndThatBeforeTheDirectory) {
  serve_at("http://127.0.0.1:1");
  around_.url = "http://127.0.0.1:2";
  around_.key = "gbx_env";
  EXPECT_EQ(find_place({}, around_).value().url, "http://127.0.0.1:2");
  EXPECT_EQ(find_place({}, around_).value().key, "gbx_env");
  const Place said =
      find_place({.url = "http://127.0.0.1:3", .key = "gbx_flag", .data_dir = {}}, around_).value();
  EXPECT_EQ(said.url, "http://127.0.0.1:3");
  EXPECT_EQ(said.key, "gbx_flag");
}

TEST_F(PlaceTest, ADirectoryThatWasNamedComesBeforeTheEnvironment) {
  serve_at("http://127.0.0.1:1");
  around_.url = "http://127.0.0.1:2";
  around_.data_dir = "/nonexistent";
  const PlaceWords words{.url = {}, .key = {}, .data_dir = directory_};
  EXPECT_EQ(find_place(words, around_).value().url, "http://127.0.0.1:1");
}

TEST_F(PlaceTest, TheAdminKeyIsNotShownToAStranger) {
  serve_at("http://127.0.0.1:7070");
  const PlaceWords words{.url = "http://192.0.2.1:7070", .key = {}, .data_dir = {}};
  EXPECT_EQ(find_place(words, around_).value().key, "");
  serve_at("http://192.0.2.1:7070");  // unless it is our own server's address
  EXPECT_EQ(find_place(words, around_).value().key, "gbx_admin");
}

TEST_F(PlaceTest, TheAdminKeyIsForTheServerThatIsThere) {
  serve_at("http://127.0.0.1:7070");
  const auto key_for = [this](const std::string& url) {
    return find_place({.url = url, .key = {}, .data_dir = {}}, around_).value().key;
  };
  EXPECT_EQ(key_for("http://localhost:7070"), "gbx_admin");
  EXPECT_EQ(key_for("http://127.0.0.1:7071"), "");
  EXPECT_EQ(key_for("http://127.evil.example:7070"), "");
  constexpr long kNobody = 0x3fffffff;  // above every pid
  serve_at("http://127.0.0.1:7070", kNobody);
  EXPECT_EQ(key_for("http://127.0.0.1:7070"), "");
}

TEST_F(PlaceTest, TheAdminKeyIsFoundWithoutAServer) {
  EXPECT_THAT(find_admin_key({}, around_).error().message(), HasSubstr("admin.key"));
  write("admin.key", "gbx_admin\n");
  EXPECT_EQ(find_admin_key({}, around_).value(), "gbx_admin");
  around_.data_dir = "/nonexistent";
  const PlaceWords words{.url = {}, .key = {}, .data_dir = directory_};
  EXPECT_EQ(find_admin_key(words, around_).value(), "gbx_admin");
}

TEST_F(PlaceTest, WithoutAServerItSaysWhatToType) {
  EXPECT_THAT(find_place({}, around_).error().message(), HasSubstr("`glovebox serve`"));
  write("serve.json", "not json");
  EXPECT_THAT(find_place({}, around_).error().message(), HasSubstr("no server is known"));
}

TEST_F(PlaceTest, AnAddressThatIsNoneIsRefused) {
  const PlaceWords words{.url = "127.0.0.1:7070", .key = {}, .data_dir = {}};
  EXPECT_THAT(find_place(words, around_).error().message(), HasSubstr("http://"));
}

}  // namespace
}  // namespace glovebox::client
