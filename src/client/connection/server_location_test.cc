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

class ServerLocationTest : public ::testing::Test {
 protected:
  ServerLocationTest() {
    directory_ = "/tmp/gbx-location-XXXXXX";
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    environment_.data_dir = directory_;
    std::getline(std::ifstream("/proc/self/comm"), environment_.program);
  }
  ~ServerLocationTest() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
  }
  void serve_at(const std::string& url, long pid = ::getpid()) {
    write("serve.json", "{\"url\":\"" + url + "\",\"pid\":" + std::to_string(pid) + "}\n");
    write("admin.key", "gbx_admin\n");
  }

  std::string directory_;
  ServerLocationEnvironment environment_;
};

TEST_F(ServerLocationTest, ReadsTheDataDirectoryOfARunningServer) {
  serve_at("http://127.0.0.1:7070");
  const ServerLocation location = find_server_location({}, environment_).value();
  EXPECT_EQ(location.url, "http://127.0.0.1:7070");
  EXPECT_EQ(location.key, "gbx_admin");
}

TEST_F(ServerLocationTest, DoesNotUseTheKeyWhenAnotherProgramReusesTheProcessId) {
  serve_at("http://127.0.0.1:7070");
  environment_.program = "glovebox-server";
  const auto location = find_server_location({}, environment_);
  EXPECT_TRUE(!location || location->key.empty());
}

TEST_F(ServerLocationTest, PrefersOptionsToTheEnvironmentAndThatToTheDataDirectory) {
  serve_at("http://127.0.0.1:1");
  environment_.url = "http://127.0.0.1:2";
  environment_.key = "gbx_env";
  EXPECT_EQ(find_server_location({}, environment_).value().url, "http://127.0.0.1:2");
  EXPECT_EQ(find_server_location({}, environment_).value().key, "gbx_env");
  const ServerLocation given =
      find_server_location({.url = "http://127.0.0.1:3", .key = "gbx_flag", .data_dir = {}},
                           environment_)
          .value();
  EXPECT_EQ(given.url, "http://127.0.0.1:3");
  EXPECT_EQ(given.key, "gbx_flag");
}

TEST_F(ServerLocationTest, PrefersAGivenDataDirectoryToTheEnvironment) {
  serve_at("http://127.0.0.1:1");
  environment_.url = "http://127.0.0.1:2";
  environment_.data_dir = "/nonexistent";
  const ServerLocationOptions options{.url = {}, .key = {}, .data_dir = directory_};
  EXPECT_EQ(find_server_location(options, environment_).value().url, "http://127.0.0.1:1");
}

TEST_F(ServerLocationTest, DoesNotSendTheAdminKeyToAnotherMachine) {
  serve_at("http://127.0.0.1:7070");
  const ServerLocationOptions options{.url = "http://192.0.2.1:7070", .key = {}, .data_dir = {}};
  EXPECT_EQ(find_server_location(options, environment_).value().key, "");
  serve_at("http://192.0.2.1:7070");  // the server of the data directory may have any address
  EXPECT_EQ(find_server_location(options, environment_).value().key, "gbx_admin");
}

TEST_F(ServerLocationTest, SendsTheAdminKeyOnlyToTheRunningServer) {
  serve_at("http://127.0.0.1:7070");
  const auto key_for = [this](const std::string& url) {
    return find_server_location({.url = url, .key = {}, .data_dir = {}}, environment_).value().key;
  };
  EXPECT_EQ(key_for("http://localhost:7070"), "gbx_admin");
  EXPECT_EQ(key_for("http://127.0.0.1:7071"), "");
  EXPECT_EQ(key_for("http://127.evil.example:7070"), "");
  constexpr long kNoProcess = 0x3fffffff;  // above every pid
  serve_at("http://127.0.0.1:7070", kNoProcess);
  EXPECT_EQ(key_for("http://127.0.0.1:7070"), "");
}

TEST_F(ServerLocationTest, FindsTheAdminKeyWithoutAServer) {
  EXPECT_THAT(find_admin_key({}, environment_).error().message(), HasSubstr("admin.key"));
  write("admin.key", "gbx_admin\n");
  EXPECT_EQ(find_admin_key({}, environment_).value(), "gbx_admin");
  environment_.data_dir = "/nonexistent";
  const ServerLocationOptions options{.url = {}, .key = {}, .data_dir = directory_};
  EXPECT_EQ(find_admin_key(options, environment_).value(), "gbx_admin");
}

TEST_F(ServerLocationTest, SaysWhatToTypeWithoutAServer) {
  EXPECT_THAT(find_server_location({}, environment_).error().message(),
              HasSubstr("`glovebox serve`"));
  write("serve.json", "not json");
  EXPECT_THAT(find_server_location({}, environment_).error().message(),
              HasSubstr("no server is known"));
}

TEST_F(ServerLocationTest, RefusesAMalformedUrl) {
  const ServerLocationOptions options{.url = "127.0.0.1:7070", .key = {}, .data_dir = {}};
  EXPECT_THAT(find_server_location(options, environment_).error().message(), HasSubstr("http://"));
}

}  // namespace
}  // namespace glovebox::client
