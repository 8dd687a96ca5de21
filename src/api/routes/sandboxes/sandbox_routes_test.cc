// The sandbox routes, with the real session services and the real store, over a fake host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include <boost/json.hpp>
#include <fstream>

#include "api/testing/test_server.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

sessions::SessionOptions quick() {
  sessions::SessionOptions options;
  options.tick = std::chrono::milliseconds(5);
  options.reconcile_every = std::chrono::milliseconds(20);
  options.sample_every = std::chrono::milliseconds(20);
  options.orphan_age = std::chrono::milliseconds(30);
  options.max_paused = 1;
  options.max_ttl_s = 1000;
  options.default_ttl_s = 100;
  options.available_memory = [] { return std::optional<std::uint64_t>(1ull << 40); };
  return options;
}

snapshots::SnapshotStoreOptions small_snapshots() {
  snapshots::SnapshotStoreOptions options;
  options.max_per_project = 2;
  options.max_bytes = 1 << 20;
  options.patience = std::chrono::milliseconds(50);
  return options;
}

class SessionRoutesTest : public ::testing::Test {
 protected:
  explicit SessionRoutesTest(sessions::SessionOptions options = quick())
      : test_({}, std::move(options), small_snapshots()) {
    key_ = test_.make_key("default", store::KeyRole::kUser);
    test_.session_service.make = [this](const node::SessionSpec& spec) {
      specs_.push_back(spec);
      auto session = std::make_shared<sessions::FakeIdleSession>(test_.io, spec.template_name);
      session->plan = plan_;
      last_ = session;
      return Result<std::shared_ptr<node::Session>>(session);
    };
  }

  Answer post(const std::string& path, const std::string& body = {}, std::string key = {}) {
    return test_.send(Method::kPost, "/v1/sandboxes" + path, key.empty() ? key_ : key, body);
  }
  Answer get(const std::string& path, std::string key = {}) {
    return test_.send(Method::kGet, "/v1/sandboxes" + path, key.empty() ? key_ : key);
  }
  json::object object(const Answer& answer) {
    EXPECT_LT(answer.status, 300) << answer.body;
    return json::parse(answer.body).as_object();
  }
  std::string make(const std::string& body = "{}") {
    const Answer answer = post("", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return std::string(json::parse(answer.body).at("id").as_string());
  }
  std::string text(const std::string& id, const char* field) {
    const json::value value = object(get("/" + id)).at(field);
    return value.is_null() ? "" : std::string(value.as_string());
  }
  std::string state(const std::string& id) { return text(id, "state"); }
  // 409, and the message names the state.
  void expect_wrong_state(const Answer& answer, const std::string& state) {
    EXPECT_EQ(answer.status, 409) << answer.body;
    EXPECT_EQ(code_of(answer), "wrong_state");
    EXPECT_THAT(answer.body, HasSubstr("the sandbox is " + state));
  }

  TestServer test_;
  std::string key_;
  std::vector<node::SessionSpec> specs_;
  std::shared_ptr<sessions::FakeIdleSession> last_;
  std::shared_ptr<sessions::FakeIdleTransfer::Plan> plan_ =
      std::make_shared<sessions::FakeIdleTransfer::Plan>();
};

TEST_F(SessionRoutesTest, ACreatedSandboxIsRunning) {
  const Answer answer = post("", R"({"template":"python","ttl_s":60,"env":{"A":"1"},
      "metadata":{"user":"ada"},"on_timeout":"pause","private_ports":true,
      "profile":{"memory_mb":128,"cpus":0.5}})");
  ASSERT_EQ(answer.status, 201) << answer.body;
  const json::object made = json::parse(answer.body).as_object();
  EXPECT_EQ(made.at("state").as_string(), "running");
  EXPECT_EQ(made.at("template").as_string(), "python");
  EXPECT_EQ(made.at("ttl_s").as_int64(), 60);
  EXPECT_EQ(made.at("limits").at("memory_mb").as_int64(), 128);
  EXPECT_EQ(made.at("limits").at("cpus").as_double(), 0.5);
  EXPECT_EQ(made.at("features").at("memory_snapshot").as_bool(), false);
  EXPECT_EQ(made.at("features").at("pause").as_bool(), true);
  EXPECT_EQ(made.at("features").at("sudo").as_bool(), false);
  EXPECT_TRUE(specs_.at(0).must_pause);
  EXPECT_EQ(made.at("port_token").as_string().size(), 40u);
  EXPECT_EQ(specs_.at(0).limits.memory_bytes, 128u << 20);
  EXPECT_EQ(specs_.at(0).project, "default");
  const std::string id(made.at("id").as_string());
  json::object shown = object(get("/" + id));
  EXPECT_TRUE(shown.at("port_token").is_null());
  EXPECT_TRUE(shown.at("private_ports").as_bool());
  EXPECT_THAT(test_.session_services->registry.environment(last_->id()), Contains("A=1"));
  EXPECT_EQ(test_.session_services->registry.port_access(id).token,
            std::string(made.at("port_token").as_string()));
  EXPECT_EQ(*test_.session_services->registry.use("default", id), last_);
}

TEST_F(SessionRoutesTest, ABadRequestIsRefusedWithItsField) {
  const std::pair<const char*, const char*> kBad[] = {
      {R"({"tempalte":"base"})", "template"},
      {R"({"ttl_s":0})", "ttl_s"},
      {R"({"metadata":{"a":1}})", "metadata.a"},
      {R"({"metadata":{"":"x"}})", "metadata."},
      {R"({"on_timeout":"stop"})", "on_timeout"},
      {R"({"agent_id":""})", "agent_id"},
      {R"({"agent_id":"mcp:mc0"})", "reserved for /mcp"},
      {R"({"name":""})", "name"},
      {R"({"name":"a:b"})", "name"},
      {R"({"name":"-a"})", "name"},
      {R"({"name":"sbabcdefghij0123456789"})", "must not look like the id"},
      {R"({"snapshot":"x"})", "snapshot"},
      {R"({"profile":{"timeout_ms":5}})", "profile.timeout_ms"},
      {R"({"env":{"A B":"1"}})", "env"},
      {R"([])", "object"},
  };
  for (const auto& [body, word] : kBad) {
    const Answer answer = post("", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_THAT(answer.body, HasSubstr(word)) << body;
  }
  EXPECT_EQ(code_of(post("", R"({"template":"nope"})")), "template_not_found");
  EXPECT_EQ(post("", R"({"ttl_s":1001})").status, 403);
  EXPECT_EQ(post("", R"({"snapshot":"snaaaaaaaaaaaaaaaaaaaa"})").status, 404);
  EXPECT_THAT(specs_, IsEmpty());
}

TEST_F(SessionRoutesTest, StatesFollowTheTable) {
  const std::string id = make();
  expect_wrong_state(post("/" + id + "/resume"), "running");
  EXPECT_EQ(object(post("/" + id + "/pause")).at("state").as_string(), "paused");
  EXPECT_THAT(test_.session_service.paused, ElementsAre(last_->id()));
  expect_wrong_state(post("/" + id + "/pause"), "paused");
  expect_wrong_state(post("/" + id + "/keepalive"), "paused");
  expect_wrong_state(post("/" + id + "/snapshots"), "paused");
  EXPECT_EQ(test_.session_services->registry.use("default", id).error().message(),
            "the sandbox is paused; resume it first");
  EXPECT_EQ(object(post("/" + id + "/resume")).at("state").as_string(), "running");
  EXPECT_EQ(test_.send(Method::kDelete, "/v1/sandboxes/" + id, key_).status, 204);
  EXPECT_THAT(test_.session_service.destroyed, ElementsAre(last_->id()));
  EXPECT_EQ(state(id), "stopped");
  for (const char* word : {"/pause", "/resume", "/keepalive", "/snapshots"}) {
    expect_wrong_state(post("/" + id + word), "stopped");
  }
  expect_wrong_state(test_.send(Method::kDelete, "/v1/sandboxes/" + id, key_), "stopped");
  expect_wrong_state(get("/" + id + "/metrics"), "stopped");
}

TEST_F(SessionRoutesTest, ConcurrentPausesDoNotInterfere) {
  const std::string id = make();
  std::vector<int> statuses;
  for (int i = 0; i < 2; ++i) {
    test_.begin(Method::kPost, "/v1/sandboxes/" + id + "/pause", key_, "", {},
                [&](Answer answer) { statuses.push_back(answer.status); });
  }
  test_.run_until([&] { return statuses.size() == 2; });
  EXPECT_THAT(statuses, ::testing::UnorderedElementsAre(200, 409));
  EXPECT_EQ(test_.session_service.paused.size(), 1u);
  EXPECT_EQ(test_.session_services->registry.figures().paused, 1u);
}

TEST_F(SessionRoutesTest, AnotherProjectSeesNothing) {
  const std::string id = make();
  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  EXPECT_EQ(get("/" + id, other).status, 404);
  EXPECT_EQ(post("/" + id + "/pause", "", other).status, 404);
  EXPECT_EQ(test_.send(Method::kDelete, "/v1/sandboxes/" + id, other).status, 404);
  EXPECT_THAT(object(get("", other)).at("sandboxes").as_array(), IsEmpty());
  EXPECT_EQ(test_.session_services->registry.use("other", id).error().code(), Errc::kNotFound);
  EXPECT_EQ(get("/sbnot", key_).status, 404);
}

TEST_F(SessionRoutesTest, ListsAreFiltered) {
  const std::string first = make(R"({"metadata":{"k":"1"}})");
  const std::string second = make(R"({"template":"python","metadata":{"k":"2"}})");
  post("/" + first + "/pause");
  const auto ids = [&](const std::string& query) {
    std::vector<std::string> found;
    const json::object page = object(get(query));
    for (const json::value& sandbox : page.at("sandboxes").as_array()) {
      found.emplace_back(sandbox.at("id").as_string());
    }
    return found;
  };
  EXPECT_THAT(ids(""), ElementsAre(second, first));
  EXPECT_THAT(ids("?state=paused,stopped"), ElementsAre(first));
  EXPECT_THAT(ids("?template=python"), ElementsAre(second));
  EXPECT_THAT(ids("?metadata.k=1"), ElementsAre(first));
  EXPECT_THAT(ids("?limit=1"), ElementsAre(second));
  const std::string cursor(object(get("?limit=1")).at("next_cursor").as_string());
  EXPECT_THAT(ids("?limit=1&cursor=" + cursor), ElementsAre(first));
  EXPECT_EQ(get("?state=on").status, 400);
  EXPECT_EQ(get("?colour=red").status, 400);
}

TEST_F(SessionRoutesTest, AnAgentGetsItsSandboxAgain) {
  const std::string id = make(R"({"agent_id":"a"})");
  post("/" + id + "/pause");
  const Answer again = post("", R"({"agent_id":"a"})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(json::parse(again.body).at("id").as_string(), id);
  EXPECT_EQ(state(id), "running");
  EXPECT_NE(make(R"({"agent_id":"b"})"), id);
  test_.send(Method::kDelete, "/v1/sandboxes/" + id, key_);
  EXPECT_NE(make(R"({"agent_id":"a"})"), id);
  std::vector<std::string> made;
  for (int i = 0; i < 3; ++i) {
    test_.begin(Method::kPost, "/v1/sandboxes", key_, R"({"agent_id":"c"})", {},
                [&](Answer answer) { made.push_back(answer.body); });
  }
  test_.run_until([&] { return made.size() == 3; });
  EXPECT_EQ(json::parse(made[0]).at("id"), json::parse(made[1]).at("id"));
  EXPECT_EQ(json::parse(made[0]).at("id"), json::parse(made[2]).at("id"));
}

TEST_F(SessionRoutesTest, LimitsPausedSandboxes) {
  const std::string first = make();
  const std::string second = make();
  ASSERT_EQ(post("/" + first + "/pause").status, 200);
  const Answer refused = post("/" + second + "/pause");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(state(second), "running");
}

TEST_F(SessionRoutesTest, ASandboxExpires) {
  const std::string killed = make(R"({"ttl_s":1})");
  const std::string kept = make(R"({"ttl_s":1})");
  const std::string paused = make(R"({"ttl_s":1,"on_timeout":"pause"})");
  const std::string over = make(R"({"ttl_s":1,"on_timeout":"pause"})");  // the ceiling is one
  object(post("/" + kept + "/keepalive", R"({"ttl_s":500})"));
  const auto began = std::chrono::steady_clock::now();
  const auto is = [&](const std::string& id, const char* state) {
    const auto record = test_.session_services->registry.figures();
    return record.running == 1 && text(id, "state") == state;
  };
  test_.run_until([&] { return test_.session_services->registry.figures().running == 1; });
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(2000));
  EXPECT_TRUE(is(killed, "stopped"));
  EXPECT_EQ(text(killed, "reason"), "ttl");
  EXPECT_EQ(state(kept), "running");
  EXPECT_EQ(state(paused), "paused");
  EXPECT_EQ(text(paused, "reason"), "ttl");
  EXPECT_EQ(state(over), "stopped");
  EXPECT_THAT(text(over, "reason"), HasSubstr("are paused, which is the limit"));
}

TEST_F(SessionRoutesTest, TheEndOfASandboxIsNoticed) {
  const std::string id = make();
  const std::string other = make();
  last_->is_alive = false;
  test_.session_service.alive.erase(last_->id());
  node::SessionEnded end{.id = last_->id(), .usage = {}, .launcher_lost = true, .why = {}};
  test_.session_service.ended(end);
  EXPECT_EQ(state(other), "error");
  EXPECT_EQ(text(other, "reason"), "the launcher ended");
  EXPECT_EQ(state(id), "running");
  EXPECT_EQ(test_.session_services->registry.use("default", other).error().code(), Errc::kConflict);
}

TEST_F(SessionRoutesTest, TheReconcilerFollowsTheNodeAndDestroysOrphans) {
  const std::string id = make();
  const auto stranger = std::make_shared<sessions::FakeIdleSession>(test_.io);
  test_.session_service.alive[stranger->id()] = stranger;
  test_.run_until([&] { return test_.session_service.alive.count(stranger->id()) == 0; });
  EXPECT_EQ(state(id), "running");
  test_.session_service.alive.erase(last_->id());
  test_.run_until([&] { return test_.session_services->registry.figures().running == 0; });
  EXPECT_EQ(state(id), "error");
  EXPECT_EQ(text(id, "reason"), "its sandbox no longer exists");
}

TEST_F(SessionRoutesTest, AFailedCreationLeavesNothing) {
  test_.session_service.make = [](const node::SessionSpec&) {
    return Result<std::shared_ptr<node::Session>>(fail(Errc::kResourceExhausted, "full"));
  };
  EXPECT_EQ(code_of(post("", "{}")), "host_full");
  EXPECT_EQ(test_.session_services->registry.figures().pending, 0u);
  EXPECT_THAT(object(get("")).at("sandboxes").as_array(), IsEmpty());
}

TEST_F(SessionRoutesTest, ACancelledCreationIsDestroyed) {
  const auto make = test_.session_service.make;
  test_.session_service.make = [&, make](const node::SessionSpec& spec) {
    test_.connection->leave();
    return make(spec);
  };
  EXPECT_EQ(post("", "{}").status, 503);
  EXPECT_THAT(test_.session_service.destroyed, ElementsAre(last_->id()));
  EXPECT_EQ(test_.session_services->registry.figures().running, 0u);
}

TEST_F(SessionRoutesTest, MetricsAndLogsShowWhatHappened) {
  const std::string id = make();
  test_.session_service.usage.cpu_us = 5;
  test_.session_service.usage.memory_bytes = 77;
  test_.session_service.usage.socket_bytes = 33;
  test_.session_services->registry.note(last_->id(), "exit", std::string(2000, 'x'), 4);
  json::object metrics;
  test_.run_until([&] {
    metrics = object(get("/" + id + "/metrics"));
    return !metrics.at("history").as_array().empty();
  });
  EXPECT_EQ(metrics.at("now").at("memory_bytes").as_int64(), 77);
  EXPECT_EQ(metrics.at("now").at("socket_bytes").as_int64(), 33);
  EXPECT_TRUE(metrics.at("now").at("peak_memory_bytes").is_null());
  EXPECT_EQ(metrics.at("history").at(0).at("cpu_us").as_int64(), 5);
  const json::object page = object(get("/" + id + "/logs?limit=1"));
  const json::array& entries = page.at("entries").as_array();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].at("process").as_int64(), 4);
  EXPECT_EQ(entries[0].at("message").as_string().size(), 512u);
  for (int i = 0; i < 300; ++i) test_.session_services->registry.note(last_->id(), "exit", "", 1);
  EXPECT_EQ(object(get("/" + id + "/logs")).at("entries").as_array().size(), 256u);
}

TEST_F(SessionRoutesTest, ASnapshotIsRestoredInAnotherSandbox) {
  const std::string id = make(R"({"template":"python"})");
  plan_->out = std::string(600'000, 'a') + "end";
  const Answer answer = post("/" + id + "/snapshots", R"({"name":"mine"})");
  ASSERT_EQ(answer.status, 201) << answer.body;
  const json::object snapshot = json::parse(answer.body).as_object();
  EXPECT_EQ(snapshot.at("bytes").as_int64(), 600'003);
  EXPECT_EQ(snapshot.at("files").as_int64(), 3);
  EXPECT_EQ(last_->requests.at(0).op, wire::FileOp::kSnapshotOut);
  const std::string name(snapshot.at("id").as_string());
  const std::string made = make(R"({"snapshot":")" + name + R"("})");
  EXPECT_EQ(plan_->in, plan_->out);
  EXPECT_TRUE(plan_->committed);
  EXPECT_EQ(text(made, "template"), "python");
  EXPECT_EQ(text(made, "snapshot"), name);
  EXPECT_EQ(test_.snapshots->bytes(), 600'003u);

  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  EXPECT_EQ(test_.send(Method::kGet, "/v1/snapshots/" + name, other).status, 404);
  EXPECT_EQ(post("", R"({"snapshot":")" + name + R"("})", other).status, 404);
  EXPECT_EQ(test_.send(Method::kDelete, "/v1/snapshots/" + name, other).status, 404);
  EXPECT_EQ(test_.send(Method::kDelete, "/v1/snapshots/" + name, key_).status, 204);
  EXPECT_TRUE(std::filesystem::is_empty(test_.directory / "snapshots"));
  EXPECT_EQ(test_.snapshots->bytes(), 0u);
}

TEST_F(SessionRoutesTest, ATemplateRefersToASnapshot) {
  const std::string id = make(R"({"template":"python"})");
  plan_->out = "files";
  const std::string snapshot(object(post("/" + id + "/snapshots")).at("id").as_string());
  const std::string body = R"({"name":"mine","snapshot":")" + snapshot + R"("})";
  const Answer answer = test_.send(Method::kPost, "/v1/templates", key_, body);
  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(json::parse(answer.body).at("snapshot").as_string(), snapshot);
  EXPECT_EQ(json::parse(answer.body).at("from"), "python");
  EXPECT_THAT(test_.template_service.defined, IsEmpty());  // the launcher is not involved
  const std::string made = make(R"({"template":"mine"})");
  EXPECT_EQ(plan_->in, "files");
  EXPECT_EQ(text(made, "template"), "python");
  EXPECT_EQ(text(made, "snapshot"), snapshot);

  const Answer kept = test_.send(Method::kDelete, "/v1/snapshots/" + snapshot, key_);
  EXPECT_EQ(kept.status, 409);
  EXPECT_THAT(kept.body, HasSubstr("mine"));
  const Answer ran =
      test_.send(Method::kPost, "/v1/run", key_, R"({"template":"mine","code":"1"})");
  EXPECT_EQ(ran.status, 400);
  EXPECT_THAT(ran.body, HasSubstr("/v1/sandboxes"));
  EXPECT_EQ(test_.send(Method::kDelete, "/v1/templates/mine", key_).status, 204);
  EXPECT_EQ(test_.send(Method::kDelete, "/v1/snapshots/" + snapshot, key_).status, 204);
  EXPECT_EQ(test_.send(Method::kPost, "/v1/templates", key_, body).status, 404);
}

TEST_F(SessionRoutesTest, SnapshotsAreLimitedAndLeaveNothingWhenTheyFail) {
  const std::string id = make();
  const auto snap = [&] { return post("/" + id + "/snapshots"); };
  plan_->out = std::string((1 << 20) + 1, 'a');
  EXPECT_EQ(code_of(snap()), "disk_full");
  plan_->out = "x";
  plan_->fails = Error(Errc::kResourceExhausted, "no room", ENOSPC);
  EXPECT_EQ(snap().status, 507);
  plan_->fails.reset();
  plan_->stalls = true;
  EXPECT_EQ(snap().status, 504);
  plan_->stalls = false;
  // The disk's thread releases the last one when it is done with it.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!std::filesystem::is_empty(test_.directory / "snapshots") &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(std::filesystem::is_empty(test_.directory / "snapshots"));
  EXPECT_EQ(test_.snapshots->bytes(), 0u);
  EXPECT_EQ(snap().status, 201);
  EXPECT_EQ(snap().status, 201);
  EXPECT_EQ(snap().status, 429);
  EXPECT_EQ(json::parse(test_.send(Method::kGet, "/v1/snapshots", key_).body)
                .at("snapshots")
                .as_array()
                .size(),
            2u);
  std::ofstream(test_.directory / "snapshots" / "stray.part") << "x";
  EXPECT_EQ(*test_.snapshots->sweep(), 1u);
}

TEST_F(SessionRoutesTest, ASnapshotThatDoesNotFitEndsTheNewSandbox) {
  const std::string id = make();
  plan_->out = "x";
  const std::string name(object(post("/" + id + "/snapshots")).at("id").as_string());
  plan_->fails = Error(Errc::kResourceExhausted, "no room", ENOSPC);
  const Answer refused = post("", R"({"snapshot":")" + name + R"("})");
  EXPECT_EQ(refused.status, 507);
  EXPECT_THAT(refused.body, HasSubstr("no room"));
  EXPECT_FALSE(plan_->committed);
  EXPECT_EQ(test_.session_services->registry.figures().starting, 0u);
  EXPECT_EQ(state(last_->id().str()), "error");
}

TEST_F(SessionRoutesTest, ARestartedServerFindsItsSandboxes) {
  const std::string running = make();
  const std::string paused = make();
  ASSERT_EQ(post("/" + paused + "/pause").status, 200);
  const SandboxId paused_id = last_->id();
  const std::string lost = make();
  test_.session_services->stop();
  test_.session_service.alive.erase(last_->id());
  test_.session_service.paused.clear();
  test_.session_service.is_adopted = false;

  test_.restart(quick());
  EXPECT_EQ(state(lost), "running");  // the launcher has not reported yet
  test_.session_service.is_adopted = true;
  test_.session_service.adoption();
  test_.run_until([&] { return !test_.session_service.paused.empty(); });
  EXPECT_EQ(state(running), "running");
  EXPECT_EQ(state(paused), "paused");
  EXPECT_THAT(test_.session_service.paused, ElementsAre(paused_id));
  EXPECT_EQ(state(lost), "error");
  EXPECT_EQ(text(lost, "reason"), "the launcher ended while no server was running");
  EXPECT_EQ(post("/" + paused + "/resume").status, 200);
}

class ScarceSessions : public SessionRoutesTest {
 protected:
  static sessions::SessionOptions scarce() {
    sessions::SessionOptions options = quick();
    options.max_sessions = 1;
    options.available_memory = [] { return std::optional<std::uint64_t>(100u << 20); };
    return options;
  }
  ScarceSessions() : SessionRoutesTest(scarce()) {}
};

TEST_F(ScarceSessions, AreRefusedWhenTheHostIsFull) {
  EXPECT_EQ(code_of(post("", "{}")), "host_full");  // 512 MB and 256 MB of disk
  const std::string small = R"({"profile":{"memory_mb":32,"disk_mb":32}})";
  const std::string id = make(small);
  EXPECT_THAT(post("", small).body, HasSubstr("sessions.max"));
  test_.send(Method::kDelete, "/v1/sandboxes/" + id, key_);
  make(small);
}

TEST_F(SessionRoutesTest, TheMemoryOfAKeyIsCountedAsLongAsItsSandboxesLive) {
  const std::string key =
      test_.make_key("default", store::KeyRole::kUser, {.max_memory_bytes = 100u << 20});
  const std::string small = R"({"profile":{"memory_mb":32,"disk_mb":32}})";
  const Answer first = post("", small, key);
  ASSERT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(code_of(post("", small, key)), "key_limit");
  const std::string id(json::parse(first.body).at("id").as_string());
  test_.send(Method::kDelete, "/v1/sandboxes/" + id, key);
  EXPECT_EQ(post("", small, key).status, 201);
}

}  // namespace
}  // namespace glovebox::api
