#include "dialects/e2b/agent_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::e2b {
namespace {

using ::testing::HasSubstr;

http::Request request_to(const std::string& id, const std::string& token = "") {
  http::Request request;
  request.path_params.add("id", id);
  if (!token.empty()) request.headers.add("X-Access-Token", token);
  return request;
}

struct AgentAccessTest : ::testing::Test {
  AgentAccess::Admission admit(http::Request request, AccessToken token) {
    std::optional<AgentAccess::Admission> admission;
    asio::co_spawn(
        test.io,
        [&]() -> asio::awaitable<void> { admission = co_await access.admit(request, token); },
        asio::detached);
    test.run_until([&] { return admission.has_value(); });
    return std::move(*admission);
  }
  std::string token_of(const std::string& id) { return test.api->e2b.tokens().token_of(id); }

  api::TestServer test;
  AgentAccess access{test.api->access, test.api->e2b.tokens()};
};

TEST_F(AgentAccessTest, TheTokenIsRequiredWhereARouteSaysSo) {
  const auto session = std::make_shared<sessions::FakeIdleSession>(test.io);
  test.sessions.add({.project = "mine", .session = session});
  const std::string id = session->id().str();
  EXPECT_EQ(admit(request_to(id, token_of(id)), AccessToken::kRequired).session, session);
  for (const std::string& wrong : {std::string(), std::string("ea_0"), token_of("x")}) {
    const AgentAccess::Admission refused = admit(request_to(id, wrong), AccessToken::kRequired);
    EXPECT_EQ(refused.session, nullptr);
    ASSERT_TRUE(refused.refusal.has_value());
    EXPECT_EQ(refused.refusal->status, 401);
    EXPECT_THAT(refused.refusal->body, HasSubstr("\"code\":401"));
  }
  EXPECT_EQ(admit(request_to(id), AccessToken::kOptional).session, session);
}

TEST_F(AgentAccessTest, ASandboxThatDoesNotRunIsABadGateway) {
  for (const AccessToken token : {AccessToken::kRequired, AccessToken::kOptional}) {
    const AgentAccess::Admission refused = admit(request_to("sbnone", token_of("sbnone")), token);
    ASSERT_TRUE(refused.refusal.has_value());
    EXPECT_EQ(refused.refusal->status, 502);
    EXPECT_EQ(refused.refusal->body, routing::sandbox_not_found("sbnone").body);
  }
}

TEST_F(AgentAccessTest, APrivateSandboxLooksLikeNoneWithoutItsToken) {
  const auto session = std::make_shared<sessions::FakeIdleSession>(test.io);
  test.sessions.add({.project = "mine", .session = session, .token = "pt_secret"});
  const std::string id = session->id().str();
  for (const AccessToken token : {AccessToken::kRequired, AccessToken::kOptional}) {
    EXPECT_EQ(admit(request_to(id, token_of(id)), token).session, session);
    for (const std::string& wrong : {std::string(), std::string("ea_0"), token_of("x")}) {
      const AgentAccess::Admission refused = admit(request_to(id, wrong), token);
      EXPECT_EQ(refused.session, nullptr);
      ASSERT_TRUE(refused.refusal.has_value());
      EXPECT_EQ(refused.refusal->status, 502);
      EXPECT_EQ(refused.refusal->body, routing::sandbox_not_found(id).body);
    }
  }
  // A signature is a proof of the token.
  EXPECT_EQ(admit(request_to(id), AccessToken::kReplaced).session, session);
}

TEST_F(AgentAccessTest, WithoutWaitingTheAnswerIsTheSame) {
  const auto session = std::make_shared<sessions::FakeIdleSession>(test.io);
  test.sessions.add({.project = "mine", .session = session});
  const std::string id = session->id().str();
  EXPECT_FALSE(access.refuse(request_to(id, token_of(id)), AccessToken::kRequired));
  EXPECT_EQ(access.refuse(request_to(id), AccessToken::kRequired)->status, 401);
  EXPECT_EQ(access.refuse_to_interpreter(request_to(id), AccessToken::kRequired)->status, 401);
  EXPECT_FALSE(access.refuse_to_interpreter(request_to(id), AccessToken::kOptional));
  EXPECT_EQ(access.refuse(request_to("sbnone"), AccessToken::kRequired)->body,
            routing::sandbox_not_found("sbnone").body);
}

// Over the real sessions.
struct PausedSandboxTest : AgentAccessTest {
  PausedSandboxTest() {
    test.session_service.make = [this](const node::SessionSpec& spec) {
      auto session = std::make_shared<sessions::FakeIdleSession>(test.io, spec.template_name);
      return Result<std::shared_ptr<node::Session>>(session);
    };
    const std::string key = test.make_key("default", store::KeyRole::kUser);
    const api::Answer made = test.send(http::Method::kPost, "/v2/sandboxes", key,
                                       R"({"autoPause":true,"autoResume":{"enabled":true}})");
    id = std::string(boost::json::parse(made.body).at("sandboxID").as_string());
    const std::string pause = "/sandboxes/" + id + "/pause";
    EXPECT_EQ(test.send(http::Method::kPost, pause, key, "{}").status, 204);
  }
  AgentAccess::Admission admit_real(http::Request request, AccessToken token) {
    std::optional<AgentAccess::Admission> admission;
    asio::co_spawn(
        test.io,
        [&]() -> asio::awaitable<void> { admission = co_await real.admit(request, token); },
        asio::detached);
    test.run_until([&] { return admission.has_value(); });
    return std::move(*admission);
  }

  std::string id;
  routing::SandboxAccess sandboxes{test.session_services->registry,
                                   test.session_services->lifecycle};
  AgentAccess real{sandboxes, test.api->e2b.tokens()};
};

TEST_F(PausedSandboxTest, IsResumedOnlyByARequestWithItsToken) {
  for (const AccessToken token : {AccessToken::kRequired, AccessToken::kOptional}) {
    for (const std::string& wrong : {std::string(), token_of("sbother")}) {
      const AgentAccess::Admission refused = admit_real(request_to(id, wrong), token);
      ASSERT_TRUE(refused.refusal.has_value());
      EXPECT_EQ(refused.refusal->status, 502);
    }
  }
  EXPECT_EQ(real.refuse(request_to(id), AccessToken::kRequired)->status, 502);
  EXPECT_FALSE(real.refuse(request_to(id, token_of(id)), AccessToken::kRequired));
  EXPECT_TRUE(test.session_service.resumed.empty());
  EXPECT_NE(admit_real(request_to(id, token_of(id)), AccessToken::kOptional).session, nullptr);
  EXPECT_EQ(test.session_service.resumed.size(), 1u);
  // Now that it runs, a route that needs no token admits every request.
  EXPECT_NE(admit_real(request_to(id), AccessToken::kOptional).session, nullptr);
}

}  // namespace
}  // namespace glovebox::e2b
