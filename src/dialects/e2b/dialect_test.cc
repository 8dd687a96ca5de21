#include "dialects/e2b/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/test_server.h"

namespace glovebox::e2b {
namespace {

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

}  // namespace
}  // namespace glovebox::e2b
