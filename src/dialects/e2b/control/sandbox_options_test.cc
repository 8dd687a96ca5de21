// Options of E2B's sandboxes: pauses without memory, MCP gateways, the Host that services see.
#include "dialects/e2b/testing/sandboxes_fixture.h"

namespace glovebox::e2b {
namespace {

TEST_F(E2bSandboxes, APauseWithoutMemoryEndsTheProcessesBeforeItFreezes) {
  const std::string id = make();
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/pause", R"({"memory":false})").status, 204);
  EXPECT_EQ(session_->times_emptied, 1);
  EXPECT_EQ(text(id, "pauseMode"), "filesystem");
  EXPECT_EQ(call(Method::kPost, "/v2/sandboxes/" + id + "/connect", R"({"memory":false})").status,
            201);
  EXPECT_EQ(session_->times_emptied, 2);  // of what was started while it froze
  EXPECT_EQ(text(id, "state"), "running");
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/pause", "{}").status, 204);
  EXPECT_EQ(text(id, "pauseMode"), "full");
  EXPECT_EQ(session_->times_emptied, 2);
}

TEST_F(E2bSandboxes, ProcessesThatDoNotEndKeepItFromBeingPaused) {
  const std::string id = make();
  session_->cannot_end = Error(Errc::kTimeout, "they did not end");
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/pause", R"({"memory":false})"), 504,
                 "did not end");
  EXPECT_EQ(text(id, "state"), "running");
  // A reboot that fails leaves it paused, as it was.
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/pause", "{}").status, 204);
  expect_refusal(call(Method::kPost, "/v2/sandboxes/" + id + "/connect", R"({"memory":false})"),
                 504);
  EXPECT_EQ(text(id, "state"), "paused");
}

TEST_F(E2bSandboxes, ConnectRebootsAPausedOneThatIsAskedTo) {
  const std::string id = make();
  // A running one is left alone.
  EXPECT_EQ(call(Method::kPost, "/v2/sandboxes/" + id + "/connect", R"({"memory":false})").status,
            200);
  EXPECT_EQ(session_->times_emptied, 0);
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/pause", "{}").status, 204);
  EXPECT_EQ(call(Method::kPost, "/v2/sandboxes/" + id + "/connect", R"({"memory":false})").status,
            201);
  EXPECT_EQ(session_->times_emptied, 1);
}

TEST_F(E2bSandboxes, ATimeoutMayKeepOnlyTheFiles) {
  const std::string id = make(R"({"autoPause":true,"autoPauseMemory":false})");
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/timeout", R"({"timeout":0})").status, 204);
  EXPECT_EQ(session_->times_emptied, 1);
  EXPECT_EQ(text(id, "pauseMode"), "filesystem");
  const json::value expiring =
      value(call(Method::kPost, "/v2/sandboxes",
                 R"({"autoPause":true,"autoPauseMemory":false,"timeout":1})"),
            201);
  const std::string second(expiring.at("sandboxID").as_string());
  test_.run_until(
      [&] { return session_->times_emptied == 1 && text(second, "state") == "paused"; });
  EXPECT_EQ(text(second, "pauseMode"), "filesystem");
}

TEST_F(E2bSandboxes, AGatewayWithoutATemplateIsLeftToTheClientToMiss) {
  const json::value made =
      value(call(Method::kPost, "/v2/sandboxes", R"({"templateID":"mcp-gateway","mcp":{}})"), 201);
  EXPECT_EQ(made.at("templateID").as_string(), "base");
  expect_refusal(call(Method::kPost, "/v2/sandboxes", R"({"templateID":"mcp-gateway"})"), 404);
  expect_refusal(call(Method::kPost, "/v2/sandboxes", R"({"templateID":"other","mcp":{}})"), 404);
}

TEST_F(E2bSandboxes, AHostMaskIsShown) {
  const std::string id = make(R"({"network":{"maskRequestHost":"localhost:${PORT}"}})");
  const json::value network = value(call(Method::kGet, "/sandboxes/" + id), 200).at("network");
  EXPECT_EQ(network.at("maskRequestHost").as_string(), "localhost:${PORT}");
  EXPECT_EQ(test_.session_services->registry.port_access(id).host_mask, "localhost:${PORT}");
}

}  // namespace
}  // namespace glovebox::e2b
