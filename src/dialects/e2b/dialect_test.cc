#include "dialects/e2b/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/test_server.h"
#include "dialects/e2b/testing/endpoints.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::e2b {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

struct DialectTest : ::testing::Test {
  std::optional<routing::PortTarget> target(const std::string& id, const std::string& port) {
    http::Request request;
    request.headers.add("E2b-Sandbox-Id", id);
    request.headers.add("E2b-Sandbox-Port", port);
    return test.api->e2b.target_of(request);
  }
  const http::Route* find(http::Method method, std::string path, std::uint16_t port) {
    http::Request request;
    request.method = method;
    request.target = std::move(path);
    return test.api->e2b.find(request, {"sbx", port});
  }

  api::TestServer test;
};

TEST_F(DialectTest, HeadersNameASandboxAndAPort) {
  const auto named = target("sbabc", "3000");
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(named->id, "sbabc");
  EXPECT_EQ(named->port, 3000);
  EXPECT_FALSE(test.api->e2b.target_of(http::Request{}).has_value());
  // Still meant for a sandbox, of which there is none.
  EXPECT_EQ(target("../x", "3000")->id, "");
  EXPECT_EQ(target("sbabc", "70000")->port, 0);
}

TEST_F(DialectTest, AnswersItsVirtualPortsAndNoOther) {
  using http::Method;
  EXPECT_EQ(find(Method::kPost, "/process.Process/Start", 49983)->pattern,
            "/process.Process/Start");
  EXPECT_EQ(find(Method::kPost, "/execute?x=1", 49999)->pattern, "/execute");
  EXPECT_EQ(find(Method::kPost, "/execute", 49983)->pattern, "(envd)");
  EXPECT_EQ(find(Method::kOptions, "/files", 49983)->cors, http::Cors::kAny);
  EXPECT_EQ(find(Method::kGet, "/", 3000), nullptr);
}

// A client without a token cannot make the server hold a body.
TEST_F(DialectTest, ARequestWithALargeBodyIsAdmittedBeforeItIsRead) {
  const auto session = std::make_shared<sessions::FakeIdleSession>(test.io);
  test.sessions.add({.project = "mine", .session = session});
  const std::string id = session->id().str();
  const auto refused = [&](const std::string& path, std::uint16_t port, const std::string& sandbox,
                           const std::string& token) {
    http::Request request;
    request.method = http::Method::kPost;
    request.target = path;
    request.path_params.add("id", sandbox);
    request.headers.add("X-Access-Token", token);
    const http::Route* route = test.api->e2b.find(request, {sandbox, port});
    request.route = route->pattern;
    const auto refusal = http::refuse_admission(*route, nullptr, request);
    return refusal ? refusal->status : 0;
  };
  const std::string token = test.api->e2b.tokens().token_of(id);
  for (const Endpoint& endpoint : {kStart, kSendInput, kStat, kCreateWatcher, kExecute}) {
    SCOPED_TRACE(endpoint.path);
    const std::uint16_t port = endpoint == kExecute ? kInterpreterTestPort : kEnvdTestPort;
    EXPECT_EQ(refused(endpoint.path, port, "sbnone", ""), 502);
    EXPECT_EQ(refused(endpoint.path, port, id, ""), 401);
    EXPECT_EQ(refused(endpoint.path, port, id, "ea_0"), 401);
    EXPECT_EQ(refused(endpoint.path, port, id, token), 0);
  }
  EXPECT_EQ(refused("/contexts", 49999, "sbnone", ""), 502);
  EXPECT_EQ(refused("/contexts", 49999, id, ""), 0);
  EXPECT_EQ(refused("/nothing", 49999, id, token), 404);
}

TEST_F(DialectTest, ASignedUrlNeedsNoSandbox) {
  http::Request request;
  request.path = "/files";
  ASSERT_NE(test.api->e2b.find_untargeted(request), nullptr);
  request.path = "/v1/run";
  EXPECT_EQ(test.api->e2b.find_untargeted(request), nullptr);
}

TEST_F(DialectTest, ItsHeadersNeverReachAGuest) {
  EXPECT_THAT(test.api->e2b.private_headers(),
              UnorderedElementsAre("X-Access-Token", "E2b-Traffic-Access-Token", "E2b-Sandbox-Id",
                                   "E2b-Sandbox-Port"));
  http::Request request;
  request.headers.add("E2B-Traffic-Access-Token", "pt_secret");
  EXPECT_EQ(test.api->e2b.port_token_of(request), "pt_secret");
}

TEST_F(DialectTest, OneKeyWorksUnderBothPrefixes) {
  const std::string key = test.make_key("team", store::KeyRole::kUser);
  const auto project_shown_by = [this](const std::string& shown) {
    http::Request request;
    request.headers.add("X-API-Key", shown);
    const auto principal = test.api->authenticator.principal_of(request);
    return principal ? principal->project : std::string();
  };
  EXPECT_EQ(project_shown_by(key), "team");
  EXPECT_EQ(project_shown_by("e2b_" + key.substr(4)), "team");
  EXPECT_EQ(project_shown_by("e2c_" + key.substr(4)), "");
  EXPECT_EQ(project_shown_by("e2b_" + key), "");
}

TEST_F(DialectTest, NoProjectMakesATemplateWithTheNameThatItsClientsUse) {
  const api::Answer answer = test.send(http::Method::kPost, "/v1/templates", test.admin_key,
                                       R"({"name":"code-interpreter-v1","from":"python"})");
  EXPECT_EQ(answer.status, 409);
  EXPECT_THAT(answer.body, HasSubstr("is reserved: it is E2B's name for python-data"));
}

}  // namespace
}  // namespace glovebox::e2b
