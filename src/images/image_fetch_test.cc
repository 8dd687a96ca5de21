// The sandbox that fetches an image: what it gets, what the server believes of it, and how it ends.
#include "images/image_fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>

#include "packages/builds/testing/fake_build_host.h"

namespace glovebox::images {
namespace {

using packages::FakeRoom;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kManifest(64, 'a');
const std::string kConfig(64, 'b');

std::string found_line() {
  return R"({"manifest":")" + kManifest + R"(","config":")" + kConfig +
         R"(","bytes":5,"layers":1})";
}

class Told final : public ImageProgress {
 public:
  asio::awaitable<bool> on_progress(std::string phase, std::string text) override {
    said.push_back(phase + ": " + text);
    co_return is_there;
  }
  std::vector<std::string> said;
  bool is_there = true;
};

class ImageFetchTest : public ::testing::Test {
 protected:
  ImageFetchTest() {
    wanted.project = "p1";
    wanted.reference = *parse_image_reference("registry.example/team/base:1");
    wanted.registry = config::parse_image_registries({"registry.example?host=auth.example"})->at(0);
    wanted.credentials = {.username = "me", .password = "topsecret"};
    wanted.most_bytes = 1000;
    wanted.timeout = seconds(30);
    host.on_script = [this](FakeRoom& room, const std::string&, sessions::FakeProcess& process) {
      program(room, process);
    };
  }
  template <class T>
  Result<T> await(Task<T> task) {
    std::optional<Result<T>> result;
    asio::co_spawn(io, std::move(task), [&](std::exception_ptr error, Result<T> value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    });
    const auto deadline = std::chrono::steady_clock::now() + seconds(10);
    while (!result && std::chrono::steady_clock::now() < deadline) {
      io.restart();
      io.run_one_for(milliseconds(20));
    }
    return result ? std::move(*result) : fail(Errc::kTimeout, "it does not end");
  }
  Result<std::unique_ptr<ImageFetch>> begin() {
    packages::BuildSandbox::Host where{io, host, life};
    return await(ImageFetch::begin(std::move(where), wanted, told, cancel));
  }
  Result<std::string> read_all(ImageFetch& fetch) {
    std::string all;
    char part[3];
    while (true) {
      TRY(const std::size_t got, await(fetch.read_some(part, sizeof part)));
      if (got == 0) return all;
      all.append(part, got);
    }
  }
  Error failure_of(const std::string& result) {
    program = [result](FakeRoom& room, sessions::FakeProcess& process) {
      room.put("/home/user/out/result.json", result);
      process.exit(1);
    };
    auto fetch = begin();
    return fetch ? Error(Errc::kInternal, "no failure") : fetch.error();
  }
  void expect_nothing_left() {
    io.restart();
    io.poll();
    EXPECT_EQ(host.alive(), 0u);
  }

  asio::io_context io;
  packages::FakeBuildHost host{io};
  std::shared_ptr<char> life = std::make_shared<char>();
  std::shared_ptr<node::CancelFlag> cancel = std::make_shared<node::CancelFlag>();
  Told told;
  FetchWanted wanted;
  std::function<void(FakeRoom&, sessions::FakeProcess&)> program =
      [](FakeRoom&, sessions::FakeProcess& process) {
        process.print(found_line() + "\narch");
        process.print("layer 1 of 1\n", wire::Stream::kStderr);
        process.print("ive");
        process.exit(0);
      };
};

TEST_F(ImageFetchTest, PassesTheArchiveOnBehindWhatWasFound) {
  auto fetch = begin();
  ASSERT_TRUE(fetch) << fetch.error().message();
  EXPECT_EQ((*fetch)->found(), (FoundImage{kManifest, kConfig, 5}));
  EXPECT_EQ(*read_all(**fetch), "archive");
  EXPECT_THAT(told.said, ElementsAre("resolving: registry.example", "fetching: layer 1 of 1"));
  EXPECT_TRUE(await((*fetch)->end()));
  expect_nothing_left();
}

TEST_F(ImageFetchTest, TheSandboxReachesTheHostsOfItsRegistryAndNothingElse) {
  auto fetch = begin();
  ASSERT_TRUE(fetch) << fetch.error().message();
  const FakeRoom& room = *host.rooms.at(0);
  EXPECT_TRUE(room.spec.is_build);
  EXPECT_EQ(room.spec.net.base, net::NetBase::kNone);
  EXPECT_EQ(net::canonical_text(room.spec.net),
            R"({"allow":["auth.example:443","registry.example:443"]})");
  EXPECT_EQ(room.spec.project, "p1");
  EXPECT_TRUE(room.spec.layer.empty());
  EXPECT_THAT(room.files.at("/home/user/in/request.json"), HasSubstr("\"password\":\"topsecret\""));
  EXPECT_EQ(room.modes.at("/home/user/in/request.json"), 0600u);
  EXPECT_FALSE(room.has("/home/user/in/ca.pem"));
}

TEST_F(ImageFetchTest, CredentialsAreHiddenInEveryText) {
  const Error error = failure_of(
      R"({"kind":"unauthorized","error":"me:topsecret bWU6dG9wc2VjcmV0 is wrong\u001b[31m"})");
  EXPECT_EQ(error.code(), Errc::kPermissionDenied);
  EXPECT_THAT(error.message(), HasSubstr("is wrong"));
  EXPECT_THAT(error.message(), Not(HasSubstr("topsecret")));
  EXPECT_THAT(error.message(), Not(HasSubstr("bWU6dG9wc2VjcmV0")));
  EXPECT_THAT(error.message(), Not(HasSubstr("\x1b")));
  expect_nothing_left();
}

TEST_F(ImageFetchTest, EveryKindOfFailureIsTold) {
  const auto kind = [this](const std::string& name) {
    return failure_of(R"({"kind":")" + name + R"(","error":"why"})");
  };
  EXPECT_EQ(kind("not_found").code(), Errc::kNotFound);
  EXPECT_EQ(kind("policy").code(), Errc::kPolicy);
  EXPECT_EQ(kind("digest").code(), Errc::kInvalidArgument);
  EXPECT_EQ(kind("unsupported").code(), Errc::kUnsupported);
  EXPECT_EQ(kind("too_large").sys_errno(), EFBIG);
  EXPECT_EQ(kind("interrupted").sys_errno(), kRegistryUnavailable);
  EXPECT_EQ(kind("something").code(), Errc::kInternal);
  EXPECT_EQ(failure_of("[").code(), Errc::kInternal);
  EXPECT_EQ(failure_of("{}").code(), Errc::kInternal);
}

TEST_F(ImageFetchTest, AFailureBehindTheBeginningIsAFailure) {
  program = [](FakeRoom& room, sessions::FakeProcess& process) {
    process.print(found_line() + "\nhalf");
    room.put("/home/user/out/result.json", R"({"kind":"digest","error":"layer 1"})");
    process.exit(1);
  };
  auto fetch = begin();
  ASSERT_TRUE(fetch) << fetch.error().message();
  const auto all = read_all(**fetch);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().message(), "layer 1");
}

TEST_F(ImageFetchTest, AnEndWithoutAWordIsAFailure) {
  program = [](FakeRoom&, sessions::FakeProcess& process) { process.exit(0); };
  EXPECT_EQ(begin().error().code(), Errc::kInternal);
  program = [](FakeRoom&, sessions::FakeProcess& process) { process.exit(0, 9); };
  EXPECT_THAT(begin().error().message(), HasSubstr("signal 9"));
  program = [](FakeRoom&, sessions::FakeProcess& process) {
    process.print(std::string(5000, 'x'));
  };
  EXPECT_EQ(begin().error().code(), Errc::kInternal);
  expect_nothing_left();
}

TEST_F(ImageFetchTest, TheTimeLimitAndAGoneClientEndIt) {
  program = [](FakeRoom&, sessions::FakeProcess&) {};
  wanted.timeout = milliseconds(50);
  const auto late = begin();
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message(), HasSubstr("images.pull_timeout"));
  EXPECT_EQ(late.error().sys_errno(), kRegistryUnavailable);
  wanted.timeout = seconds(30);
  program = [this](FakeRoom&, sessions::FakeProcess&) {
    asio::post(io, [this] { cancel->cancel(); });
  };
  EXPECT_THAT(begin().error().message(), HasSubstr("cancelled"));
  expect_nothing_left();
}

TEST_F(ImageFetchTest, WhatWasFoundIsReadStrictly) {
  EXPECT_TRUE(parse_found_image(found_line()));
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string(R"({"manifest":"x"})"), found_line() + "x",
        R"({"manifest":")" + kManifest + R"(","config":")" + kConfig + R"(","bytes":-1})"}) {
    EXPECT_FALSE(parse_found_image(bad)) << bad;
  }
}

}  // namespace
}  // namespace glovebox::images
