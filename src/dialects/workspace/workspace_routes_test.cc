// /workspace/se through the whole API, with the real session services and the real store, over fake
// sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "sessions/testing/fake_session.h"

namespace glovebox::workspace {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::HasSubstr;

class WorkspaceRoutes : public ::testing::Test {
 protected:
  void SetUp() override {
    key_ = test_.make_key("default", store::KeyRole::kUser);
    test_.session_service.make = [this](const node::SessionSpec& spec) {
      specs_.push_back(spec);
      auto session = std::make_shared<sessions::FakeSession>(test_.io);
      test_.sessions.add({.project = spec.project, .session = session});
      last_ = session;
      return Result<std::shared_ptr<node::Session>>(session);
    };
  }
  static sessions::SessionOptions roomy() {
    sessions::SessionOptions options;
    options.available_memory = [] { return std::optional<std::uint64_t>(1ull << 40); };
    return options;
  }

  api::Answer send(Method method, const std::string& path, std::string body = {},
                   std::string key = {}) {
    return test_.send(method, "/workspace/se/" + path, key.empty() ? key_ : key, std::move(body));
  }
  static json::object object(const api::Answer& answer) {
    EXPECT_LT(answer.status, 300) << answer.body;
    return json::parse(answer.body).as_object();
  }

  api::TestServer test_{{}, roomy()};
  std::string key_;
  std::vector<node::SessionSpec> specs_;
  std::shared_ptr<sessions::FakeSession> last_;
};

TEST_F(WorkspaceRoutes, AnIdNamesOneSessionOfItsProject) {
  const api::Answer made = send(Method::kPost, "session/..%2F..");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(object(made).at("session_id"), "../..");
  EXPECT_EQ(specs_.at(0).template_name, "python");
  const api::Answer again = send(Method::kPost, "session/..%2F..", R"({"memory_limit":65536})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(object(again).at("sandbox_id"), object(made).at("sandbox_id"));
  EXPECT_EQ(specs_.size(), 1u);
  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  EXPECT_EQ(send(Method::kGet, "status/..%2F..", {}, other).status, 404);
  EXPECT_EQ(send(Method::kDelete, "session/..%2F..", {}, other).status, 404);
  EXPECT_EQ(send(Method::kPost, "session/..%2F..", {}, other).status, 201);
  EXPECT_EQ(send(Method::kDelete, "session/..%2F..").status, 200);
  EXPECT_EQ(send(Method::kGet, "status/..%2F..").status, 404);
  EXPECT_EQ(send(Method::kGet, "status/..%2F..", {}, other).status, 200);
}

TEST_F(WorkspaceRoutes, HasTheLimitsThatItsUsersKnow) {
  const json::object made = object(send(Method::kPost, "session/s"));
  EXPECT_EQ(made.at("cpu_quota"), 2.0);
  EXPECT_EQ(made.at("memory_limit"), 131072);
  EXPECT_EQ(made.at("timeout"), 300.0);
  // They are defaults: a host that cannot enforce them, or allows less, does not refuse them.
  EXPECT_EQ(specs_.at(0).limits.asked_for, 0);
  const json::object larger =
      object(send(Method::kPost, "session/t", R"({"memory_limit":262144})"));
  EXPECT_EQ(larger.at("memory_limit"), 262144);
  EXPECT_TRUE(specs_.at(1).limits.was_asked_for(LimitKind::kMemory));
}

TEST_F(WorkspaceRoutes, WhatWaitsHasTheLimitsOfARequestWithoutAny) {
  Settings settings;
  settings.pool_size = 3;
  ASSERT_EQ(send(Method::kPost, "session/s").status, 201);
  const auto wanted = waiting_sessions(settings);
  ASSERT_EQ(wanted.size(), 2u);
  node::SessionPools pools;
  pools.set("workspace", wanted);
  const TemplateStatus* python = test_.node.find_template("python");
  const auto found = pools.of(*python);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key.project, "default");
  EXPECT_EQ(found[0].bounds, (PoolBounds{3, 3}));
  EXPECT_EQ(found[0].key.session_limits, session_limits_text(specs_.at(0).limits));
}

TEST_F(WorkspaceRoutes, CodeRunsAsACellAndReturnsItsValue) {
  ASSERT_EQ(send(Method::kPost, "session/s").status, 201);
  last_->on_cell = [](sessions::FakeProcess& process, const wire::Cell& cell) {
    process.print("said " + cell.code);
    process.say(
        R"({"type":"result","main":true,"mime":{"text/plain":"[1]","application/json":[1]}})");
    process.end_cell(cell.number);
  };
  const json::object answer = object(send(Method::kPost, "execute_code/s", R"({"code":"[1]"})"));
  EXPECT_EQ(answer.at("stdout"), "said [1]");
  EXPECT_EQ(answer.at("result"), json::value(json::array{1}));
  EXPECT_EQ(answer.at("exit_code"), 0);
  EXPECT_TRUE(answer.at("error").is_null());
  const json::object named =
      object(send(Method::kPost, "execute_code/s", R"({"code":"x","output_params":[]})"));
  EXPECT_FALSE(named.contains("result"));
}

TEST_F(WorkspaceRoutes, ACommandRunsAsAnExec) {
  ASSERT_EQ(send(Method::kPost, "session/s").status, 201);
  last_->on_start = [](sessions::FakeProcess& process) {
    process.print("out");
    process.exit(3);
    return Result<>();
  };
  const json::object answer = object(send(Method::kPost, "execute/s", R"({"command":"x"})"));
  EXPECT_EQ(answer.at("exit_code"), 3);
  EXPECT_EQ(answer.at("stdout"), "out");
  const api::Answer nowhere = send(Method::kPost, "execute/none", R"({"command":"x"})");
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_THAT(nowhere.body, HasSubstr("POST /workspace/se/session/"));
}

}  // namespace
}  // namespace glovebox::workspace
