#include "dialects/e2b/agent_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "api/testing/test_app.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::e2b {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

http::Request to(const std::string& id, const std::string& token = "") {
  http::Request request;
  request.path_params.add("id", id);
  if (!token.empty()) request.headers.add("X-Access-Token", token);
  return request;
}

struct GateTest : ::testing::Test {
  Gate enter_with(http::Request request, Token token) {
    std::optional<Gate> gate;
    asio::co_spawn(
        test.io,
        [&]() -> asio::awaitable<void> { gate = co_await enter(*test.app, request, token); },
        asio::detached);
    test.run_until([&] { return gate.has_value(); });
    return std::move(*gate);
  }

  api::TestApp test;
};

TEST_F(GateTest, ATokenIsTheSandboxesAndTheServersOwn) {
  const std::string token = access_token(*test.app, "sbone");
  EXPECT_THAT(token, MatchesRegex("ea_[0-9a-f]{64}"));
  EXPECT_EQ(access_token(*test.app, "sbone"), token);
  EXPECT_TRUE(is_access_token(*test.app, "sbone", token));
  EXPECT_FALSE(is_access_token(*test.app, "sbtwo", token));
  EXPECT_FALSE(is_access_token(*test.app, "sbone", ""));
  EXPECT_FALSE(is_access_token(*test.app, "sbone", token.substr(0, token.size() - 1)));
  test.app->settings.secret = "another server";
  EXPECT_FALSE(is_access_token(*test.app, "sbone", token));
  // A server without a secret has no tokens, not even empty ones.
  test.app->settings.secret.clear();
  EXPECT_FALSE(is_access_token(*test.app, "sbone", ""));
  EXPECT_FALSE(is_access_token(*test.app, "sbone", access_token(*test.app, "sbone")));
}

TEST_F(GateTest, OnlyWhoHasTheTokenComesIn) {
  const auto session = std::make_shared<sessions::FakeIdleSession>(test.io);
  test.sessions.add({.project = "mine", .session = session});
  const std::string id = session->id().str();
  EXPECT_EQ(enter_with(to(id, access_token(*test.app, id)), Token::kNeeded).session, session);
  for (const std::string& wrong :
       {std::string(), std::string("ea_0"), access_token(*test.app, "x")}) {
    const Gate gate = enter_with(to(id, wrong), Token::kNeeded);
    EXPECT_EQ(gate.session, nullptr);
    ASSERT_TRUE(gate.refusal.has_value());
    EXPECT_EQ(gate.refusal->status, 401);
    EXPECT_THAT(gate.refusal->body, HasSubstr("\"code\":401"));
  }
  EXPECT_EQ(enter_with(to(id), Token::kNotAsked).session, session);
}

TEST_F(GateTest, WhatIsNotThereIsABadGateway) {
  for (const Token token : {Token::kNeeded, Token::kNotAsked}) {
    const Gate gate = enter_with(to("sbnone", access_token(*test.app, "sbnone")), token);
    ASSERT_TRUE(gate.refusal.has_value());
    EXPECT_EQ(gate.refusal->status, 502);
    EXPECT_EQ(gate.refusal->body,
              R"({"sandboxId":"sbnone","message":"The sandbox was not found","code":502})");
  }
}

TEST(E2bUser, IsTheNameInBasic) {
  http::Request request;
  EXPECT_EQ(user_of(request), "");
  request.headers.set("Authorization", "Basic cm9vdDo=");
  EXPECT_EQ(user_of(request), "root");
  request.headers.set("Authorization", "basic cm9vdDpzZWNyZXQ=");
  EXPECT_EQ(user_of(request), "root");
  for (const char* none : {"Bearer cm9vdDo=", "Basic", "Basic ", "Basic ***"}) {
    request.headers.set("Authorization", none);
    EXPECT_EQ(user_of(request), "") << none;
  }
}

}  // namespace
}  // namespace glovebox::e2b
