// Requests with packages: the set is prepared first, and the code runs with the prepared set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "model/template_rules.h"
#include "node/links/launcher_error.h"
#include "packages/package_json.h"
#include "packages/testing/fake_package_service.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kRun =
    R"j({"language":"python","code":"import good","profile":{"dependencies":["good"," b>=2"]}})j";

// A preparation that lasts until it is cancelled.
packages::FakePackageService::Play waits_for_the_end() {
  return [](packages::PackageSetRequest, packages::OnBuildProgress,
            std::shared_ptr<node::CancelFlag> cancel) -> Task<packages::PreparedPackages> {
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, std::chrono::hours(1));
    cancel->on_cancel([&] { timer.cancel(); });
    if (!cancel->cancelled()) co_await timer.async_wait(kAwaitTuple);
    cancel->on_cancel(nullptr);
    co_return fail(Errc::kUnavailable, "the request was cancelled");
  };
}

packages::FakePackageService::Play builds() {
  return [](packages::PackageSetRequest requested_set, packages::OnBuildProgress say,
            std::shared_ptr<node::CancelFlag>) -> Task<packages::PreparedPackages> {
    auto executor = co_await asio::this_coro::executor;
    for (const packages::BuildPhase phase :
         {packages::BuildPhase::kResolving, packages::BuildPhase::kInstalling}) {
      asio::steady_timer timer(executor, std::chrono::milliseconds(1));
      co_await timer.async_wait(kAwaitTuple);
      if (!say) continue;
      const packages::BuildProgress begun{phase, ""};
      const packages::BuildProgress line{phase, "line \x1b \xff"};
      say(begun);
      say(line);
    }
    packages::PreparedPackages made;
    made.template_id = requested_set.definition.id;
    if (made.template_id.empty()) made.template_id = "own.builtbuiltbuiltbuilt";
    made.layer_id = std::string(32, 'b');
    made.built = true;
    made.waited = std::chrono::milliseconds(1234);
    co_return made;
  };
}

std::vector<std::string> events_in(const std::string& body) {
  std::vector<std::string> events;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) events.emplace_back(json::parse(line).at("event").as_string());
  }
  return events;
}

class DependencyRoutes : public ::testing::Test {
 protected:
  DependencyRoutes() {
    mine_ = test_.make_key("mine", store::KeyRole::kUser);
    test_.session_service.make = [this](const node::SessionSpec& spec) {
      specs_.push_back(spec);
      auto session = std::make_shared<sessions::FakeIdleSession>(test_.io, spec.template_name);
      return Result<std::shared_ptr<node::Session>>(session);
    };
  }
  Answer post(const std::string& path, const std::string& body, http::Headers headers = {}) {
    return test_.send(Method::kPost, path, mine_, body, std::move(headers));
  }
  Answer get(const std::string& path) { return test_.send(Method::kGet, path, mine_); }
  json::object object(const Answer& answer) {
    EXPECT_LT(answer.status, 300) << answer.body;
    return json::parse(answer.body).as_object();
  }

  TestServer test_;
  packages::FakePackageService& packages_ = test_.packages;
  std::string mine_;
  std::vector<node::SessionSpec> specs_;
};

TEST_F(DependencyRoutes, ARunUsesTheTemplateOfItsPackages) {
  const json::object answer = object(post("/v1/run", kRun));
  ASSERT_EQ(test_.node.jobs.size(), 1u);
  EXPECT_EQ(test_.node.jobs[0].template_name, packages_.made_template);
  EXPECT_EQ(answer.at("template"), "python") << "never the node's name for it";
  EXPECT_EQ(answer.at("dependencies"),
            (json::object{{"layer", packages_.made_layer}, {"built", false}, {"waited_ms", 0}}));
  ASSERT_EQ(packages_.requests.size(), 1u);
  const packages::PackageSetRequest requested_set = packages_.requests[0];
  EXPECT_EQ(requested_set.project, "mine");
  EXPECT_THAT(requested_set.key_id, ::testing::StartsWith("ky"));
  EXPECT_EQ(requested_set.definition.from, "python");
  EXPECT_EQ(requested_set.definition.id, "");
  EXPECT_THAT(requested_set.dependencies.packages, ElementsAre("b>=2", "good"));
  EXPECT_THAT(get("/v1/runs").body, Not(HasSubstr("own.")));
}

TEST_F(DependencyRoutes, ARunWithoutPackagesPreparesNone) {
  const json::object answer = object(post("/v1/run", R"({"language":"python","code":"1"})"));
  EXPECT_FALSE(answer.contains("dependencies"));
  EXPECT_THAT(packages_.requests, IsEmpty());
}

TEST_F(DependencyRoutes, RefusesPackagesWhereTheyAreNotSupported) {
  const auto refusal = [&](const char* body) {
    const Answer answer = post("/v1/run", body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.body;
  };
  EXPECT_THAT(refusal(R"({"command":["/bin/ls"],"profile":{"dependencies":["a"]}})"),
              HasSubstr("has neither Python nor Node"));
  EXPECT_THAT(refusal(R"({"language":"node","code":"1",
                          "profile":{"dependencies":{"requirements":"a"}}})"),
              HasSubstr("profile.dependencies.requirements: only for Python"));
  EXPECT_THAT(
      refusal(R"({"language":"python","code":"1","profile":{"dependencies":["a","-r x"]}})"),
      HasSubstr("profile.dependencies[1]: "));
  EXPECT_THAT(packages_.requests, IsEmpty());
  EXPECT_THAT(test_.node.jobs, IsEmpty());
}

TEST_F(DependencyRoutes, TheCauseOfAFailedSetDecidesTheStatus) {
  const auto status = [&](Error error) {
    packages_.play = packages::fails_after({}, std::move(error));
    const Answer answer = post("/v1/run", kRun);
    return std::to_string(answer.status) + " " + code_of(answer) + " " +
           std::string(answer.headers.get("Retry-After"));
  };
  EXPECT_EQ(status(Error(Errc::kInvalidArgument, "no such package")), "422 dependencies_failed ");
  EXPECT_EQ(status(Error(Errc::kTimeout, "took too long")), "422 dependencies_failed ");
  EXPECT_EQ(status(Error(Errc::kPolicy, "deps.enabled")), "403 policy ");
  EXPECT_EQ(status(Error(Errc::kResourceExhausted, "too many wait")), "503 builds_full 5");
  EXPECT_EQ(status(Error(Errc::kResourceExhausted, "full", ENOSPC)), "507 disk_full ");
  EXPECT_EQ(status(node::launcher_error("it is gone")), "503 launcher_restarting 1");
  EXPECT_THAT(test_.node.jobs, IsEmpty());
}

TEST_F(DependencyRoutes, AFailedBuildIsRecordedAndMayBeTriedAgain) {
  packages_.play = packages::fails_after(
      {}, Error(Errc::kInvalidArgument, "ERROR: No matching distribution\nx"));
  const http::Headers named{{"Idempotency-Key", "once"}};
  const Answer first = post("/v1/run", kRun, named);
  EXPECT_EQ(first.status, 422);
  EXPECT_THAT(first.body, HasSubstr("No matching distribution"));
  packages_.play = nullptr;
  const Answer second = post("/v1/run", kRun, named);
  EXPECT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(second.headers.find("Idempotent-Replayed"), nullptr);
  const Answer third = post("/v1/run", kRun, named);
  EXPECT_EQ(third.status, 200);
  EXPECT_EQ(third.headers.get("Idempotent-Replayed"), "true");
  EXPECT_EQ(test_.node.jobs.size(), 1u);
  EXPECT_THAT(get("/v1/runs").body, HasSubstr("dependencies_failed"));
}

TEST_F(DependencyRoutes, AStreamShowsTheBuildFirst) {
  packages_.play = builds();
  const Answer lines = post("/v1/run", kRun, {{"Accept", "application/x-ndjson"}});
  ASSERT_TRUE(lines.streamed);
  EXPECT_THAT(events_in(lines.body),
              ElementsAre("build", "build", "build", "build", "stdout", "result", "exit"));
  EXPECT_THAT(lines.body, HasSubstr(R"({"event":"build","phase":"resolving","text":""})"));
  EXPECT_THAT(lines.body, HasSubstr(R"("built":true)"));
  EXPECT_THAT(lines.body, HasSubstr(R"("waited_ms":1234)"));
  const Answer events = post("/v1/run", kRun, {{"Accept", "text/event-stream"}});
  EXPECT_THAT(events.body,
              HasSubstr("event: build\ndata: {\"phase\":\"installing\",\"text\":\"\"}\n\n"));
  EXPECT_THAT(events.body, HasSubstr("line \\u001b \xef\xbf\xbd"));
}

TEST_F(DependencyRoutes, AStreamThatHasBegunEndsWithTheInstallersOutput) {
  const packages::BuildProgress word{packages::BuildPhase::kResolving, "Collecting good"};
  packages_.play =
      packages::fails_after({word}, Error(Errc::kInvalidArgument, "ERROR: nothing\nfits"));
  const Answer answer = post("/v1/run", kRun, {{"Accept", "application/x-ndjson"}});
  ASSERT_TRUE(answer.streamed);
  EXPECT_THAT(events_in(answer.body), ElementsAre("build", "error"));
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"dependencies_failed")"));
  EXPECT_THAT(answer.body, HasSubstr(R"("status":422)"));
  EXPECT_THAT(answer.body, HasSubstr("nothing\\nfits"));
  // A stream that has not begun is refused with a status.
  packages_.play = packages::fails_after({}, Error(Errc::kInvalidArgument, "no"));
  const Answer whole = post("/v1/run", kRun, {{"Accept", "application/x-ndjson"}});
  EXPECT_FALSE(whole.streamed);
  EXPECT_EQ(whole.status, 422);
  EXPECT_THAT(test_.node.jobs, IsEmpty());
}

TEST_F(DependencyRoutes, ADisconnectedClientEndsItsBuild) {
  for (const char* accept : {"application/json", "application/x-ndjson"}) {
    packages_.play = waits_for_the_end();
    test_.connection = std::make_shared<FakeConnection>();
    std::optional<Answer> answer;
    const std::size_t before = packages_.requests.size();
    test_.begin(Method::kPost, "/v1/run", mine_, kRun, {{"Accept", accept}},
                [&](Answer got) { answer = std::move(got); });
    test_.run_until([&] { return packages_.requests.size() == before + 1; });
    test_.connection->leave();
    test_.run_until([&] { return answer.has_value(); });
    EXPECT_EQ(answer->status, 499) << accept;
  }
  EXPECT_THAT(test_.node.jobs, IsEmpty());
}

TEST_F(DependencyRoutes, BuildOutputForASlowReaderIsBounded) {
  packages_.play = [](packages::PackageSetRequest, packages::OnBuildProgress say,
                      std::shared_ptr<node::CancelFlag>) -> Task<packages::PreparedPackages> {
    for (int i = 0; i < 5000; ++i) {
      const packages::BuildProgress word{packages::BuildPhase::kInstalling,
                                         std::string(10'000, 'x')};
      say(word);
    }
    const packages::BuildProgress last{packages::BuildPhase::kSealing, ""};
    say(last);
    packages::PreparedPackages made;
    made.template_id = "own.builtbuiltbuiltbuilt";
    co_return made;
  };
  const Answer answer = post("/v1/run", kRun, {{"Accept", "application/x-ndjson"}});
  EXPECT_LT(answer.body.size(), 4u << 20);
  EXPECT_THAT(answer.body, HasSubstr(R"("phase":"sealing")"));
  EXPECT_EQ(events_in(answer.body).back(), "exit");
}

TEST_F(DependencyRoutes, AFunctionHasPackagesToo) {
  const json::object answer =
      object(post("/v1/functions/invoke",
                  R"({"runtime":"python3.11","code":"x","profile":{"dependencies":["good"]}})"));
  ASSERT_EQ(test_.node.jobs.size(), 1u);
  EXPECT_EQ(test_.node.jobs[0].template_name, packages_.made_template);
  EXPECT_EQ(answer.at("dependencies").at("layer"), json::value(packages_.made_layer));
}

TEST_F(DependencyRoutes, ASandboxIsCreatedFromItsSetAndRecordsIt) {
  const Answer made = post("/v1/sandboxes", R"({"template":"python",
      "profile":{"dependencies":{"packages":["good"],"preload":["good"]}}})");
  ASSERT_EQ(made.status, 201) << made.body;
  ASSERT_EQ(specs_.size(), 1u);
  EXPECT_EQ(specs_[0].template_name, packages_.made_template);
  EXPECT_THAT(made.body, Not(HasSubstr("own.")));
  const std::string id(json::parse(made.body).at("id").as_string());
  for (const std::string& body : {made.body, get("/v1/sandboxes/" + id).body}) {
    const json::value shown = json::parse(body);
    EXPECT_EQ(shown.at("template"), "python");
    EXPECT_EQ(shown.at("dependencies"), (json::object{{"packages", {"good"}},
                                                      {"preload", {"good"}},
                                                      {"requirements_sha256", nullptr},
                                                      {"lock_sha256", nullptr},
                                                      {"host_packages", nullptr},
                                                      {"layer", packages_.made_layer}}));
  }
  const json::object plain = object(post("/v1/sandboxes", R"({"template":"python"})"));
  EXPECT_TRUE(plain.at("dependencies").is_null());
}

TEST_F(DependencyRoutes, ASandboxWhoseSetFailsIsNotCreated) {
  packages_.play = packages::fails_after({}, Error(Errc::kInvalidArgument, "no such package"));
  const Answer answer =
      post("/v1/sandboxes", R"({"template":"python","profile":{"dependencies":["good"]}})");
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(code_of(answer), "dependencies_failed");
  EXPECT_THAT(specs_, IsEmpty());
}

TEST_F(DependencyRoutes, AnExistingSandboxOfAnAgentNeedsNoPackages) {
  const char* body = R"({"template":"python","agent_id":"a","profile":{"dependencies":["good"]}})";
  const Answer first = post("/v1/sandboxes", body);
  ASSERT_EQ(first.status, 201) << first.body;
  const Answer second = post("/v1/sandboxes", body);
  EXPECT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(packages_.requests.size(), 1u);
  EXPECT_EQ(post("/v1/sandboxes", R"({"agent_id":"a"})").status, 200);
  const Answer other =
      post("/v1/sandboxes", R"({"agent_id":"a","profile":{"dependencies":["another"]}})");
  EXPECT_EQ(other.status, 400) << "base has no packages: " << other.body;
  const Answer differs =
      post("/v1/sandboxes",
           R"({"template":"python","agent_id":"a","profile":{"dependencies":["another"]}})");
  EXPECT_EQ(differs.status, 409) << differs.body;
  EXPECT_THAT(differs.body, HasSubstr("dependencies"));
}

TEST_F(DependencyRoutes, ATemplateWithPackagesIsCreatedAfterTheirInstallation) {
  const Answer made = post("/v1/templates", R"({"name":"with-good","from":"python",
      "env":{"A":"b"},"preload":["json"],
      "profile":{"memory_mb":200,"dependencies":{"packages":["good"],"requirements":"c"}}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_THAT(test_.template_service.defined, IsEmpty()) << "the package service does that";
  ASSERT_EQ(packages_.requests.size(), 1u);
  const packages::PackageSetRequest requested_set = packages_.requests[0];
  EXPECT_TRUE(is_dynamic_template_id(requested_set.definition.id));
  EXPECT_EQ(requested_set.definition.from, "python");
  EXPECT_THAT(requested_set.definition.preload, ElementsAre("json"));
  EXPECT_EQ(requested_set.project, "mine");
  const json::value shown = json::parse(get("/v1/templates/with-good").body);
  EXPECT_EQ(shown.at("dependencies").at("packages"), json::array({"good"}));
  EXPECT_EQ(shown.at("dependencies").at("requirements_sha256").as_string().size(), 64u);
  EXPECT_EQ(shown.at("state"), "idle");
  EXPECT_TRUE(shown.at("error").is_null());

  // A run has the template's packages, variables and limits, even if the launcher does not have it.
  const json::object ran = object(post("/v1/run", R"({"template":"with-good","code":"1"})"));
  ASSERT_EQ(packages_.requests.size(), 2u);
  EXPECT_EQ(packages_.requests[1].definition.id, requested_set.definition.id);
  EXPECT_EQ(packages_.requests[1].dependencies, requested_set.dependencies);
  ASSERT_EQ(test_.node.jobs.size(), 1u);
  EXPECT_EQ(test_.node.jobs[0].template_name, requested_set.definition.id);
  EXPECT_EQ(test_.node.jobs[0].limits.memory_bytes, 200u << 20);
  EXPECT_THAT(test_.node.jobs[0].job->env, ::testing::Contains("A=b"));
  EXPECT_EQ(ran.at("template"), "with-good");

  // With more packages it is a different set with the same variables.
  object(post("/v1/run",
              R"({"template":"with-good","code":"1","profile":{"dependencies":["more"]}})"));
  ASSERT_EQ(packages_.requests.size(), 3u);
  EXPECT_EQ(packages_.requests[2].definition.id, "");
  EXPECT_THAT(packages_.requests[2].definition.env, ElementsAre("A=b"));
  EXPECT_THAT(packages_.requests[2].dependencies.packages, ElementsAre("good", "more"));
  EXPECT_EQ(packages_.requests[2].dependencies.requirements, "c");

  // A sandbox has them, too, and records its template.
  const json::object sandbox = object(post("/v1/sandboxes", R"({"template":"with-good"})"));
  EXPECT_EQ(sandbox.at("template"), "with-good");
  EXPECT_EQ(sandbox.at("dependencies").at("packages"), json::array({"good"}));
  EXPECT_EQ(specs_.back().template_name, requested_set.definition.id);
}

TEST_F(DependencyRoutes, ATemplateWhosePackagesFailIsNotCreated) {
  packages_.play = packages::fails_after({}, Error(Errc::kInvalidArgument, "no such package"));
  const char* body = R"({"name":"bad","from":"python","profile":{"dependencies":["no-such"]}})";
  const Answer answer = post("/v1/templates", body);
  EXPECT_EQ(answer.status, 422) << answer.body;
  EXPECT_EQ(code_of(answer), "dependencies_failed");
  EXPECT_EQ(get("/v1/templates/bad").status, 404);
  const Answer base =
      post("/v1/templates", R"({"name":"b","from":"base","profile":{"dependencies":["a"]}})");
  EXPECT_EQ(base.status, 400) << base.body;
  packages_.play = nullptr;
  EXPECT_EQ(post("/v1/templates", body).status, 201) << "the name is still free";
}

TEST_F(DependencyRoutes, ASnapshotKeepsThePackagesOfItsSandbox) {
  const Answer made =
      post("/v1/sandboxes", R"({"template":"python","profile":{"dependencies":["good"]}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string id(json::parse(made.body).at("id").as_string());
  const Answer kept = post("/v1/sandboxes/" + id + "/snapshots", "{}");
  ASSERT_EQ(kept.status, 201) << kept.body;
  const std::string snapshot(json::parse(kept.body).at("id").as_string());
  EXPECT_EQ(json::parse(kept.body).at("dependencies").at("packages"), json::array({"good"}));
  const json::object again = object(post("/v1/sandboxes", R"({"snapshot":")" + snapshot + "\"}"));
  EXPECT_EQ(specs_.back().template_name, packages_.made_template);
  EXPECT_EQ(again.at("dependencies").at("packages"), json::array({"good"}));
  ASSERT_EQ(packages_.requests.size(), 2u);
  EXPECT_EQ(packages_.requests[1].dependencies, packages_.requests[0].dependencies);
}

TEST_F(DependencyRoutes, ATemplateKeepsItsLayer) {
  ASSERT_EQ(post("/v1/templates",
                 R"({"name":"pinned","from":"python","profile":{"dependencies":["good"]}})")
                .status,
            201);
  const std::string first = packages_.made_layer;
  EXPECT_EQ(packages_.requests[0].kept_layer, "");
  const auto run = [&] { object(post("/v1/run", R"({"template":"pinned","code":"1"})")); };
  run();
  EXPECT_EQ(packages_.requests.back().kept_layer, first);
  EXPECT_FALSE(packages_.requests.back().resolve_now);
  // A request with more packages does not use the kept layer.
  object(
      post("/v1/run", R"({"template":"pinned","code":"1","profile":{"dependencies":["more"]}})"));
  EXPECT_EQ(packages_.requests.back().kept_layer, "");
  // The layer is gone: then its replacement is kept, also by the next server.
  packages_.made_layer = std::string(32, 'c');
  run();
  EXPECT_EQ(packages_.requests.back().kept_layer, first);
  run();
  EXPECT_EQ(packages_.requests.back().kept_layer, packages_.made_layer);
  const auto stored = test_.store->all_templates();
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->front().layer, packages_.made_layer);
  EXPECT_NE(test_.templates->of_layer(packages_.made_layer), nullptr);
  EXPECT_EQ(test_.templates->of_layer(first), nullptr);
  // A prebuild resolves versions again if the request says refresh.
  packages_.layers = {packages::layer_of(packages_.made_layer, {"mine"})};
  object(post("/v1/layers", R"({"dependencies":["good"]})"));
  EXPECT_FALSE(packages_.requests.back().resolve_now);
  object(post("/v1/layers", R"({"dependencies":["good"],"refresh":true})"));
  EXPECT_TRUE(packages_.requests.back().resolve_now);
}

TEST_F(DependencyRoutes, ASnapshotKeepsItsLayer) {
  const std::string first = packages_.made_layer;
  ASSERT_EQ(post("/v1/templates",
                 R"({"name":"pinned","from":"python","profile":{"dependencies":["good"]}})")
                .status,
            201);
  const json::object made = object(post("/v1/sandboxes", R"({"template":"pinned"})"));
  const std::string own = packages_.requests.back().definition.id;
  const std::string id(made.at("id").as_string());
  const std::string snapshot(
      object(post("/v1/sandboxes/" + id + "/snapshots", "{}")).at("id").as_string());
  const auto requested_set = [&](const std::string& more = "") {
    object(post("/v1/sandboxes", R"({"snapshot":")" + snapshot + "\"" + more + "}"));
    return packages_.requests.back();
  };
  EXPECT_EQ(requested_set().kept_layer, first);
  EXPECT_EQ(requested_set().definition.id, own) << "the same as its template";
  EXPECT_EQ(requested_set(R"(,"profile":{"dependencies":["more"]})").kept_layer, "");
  // The template has a different layer now; the snapshot has not.
  std::optional<Result<>> set;
  asio::co_spawn(test_.io, test_.templates->set_layer(own, std::string(32, 'd')),
                 [&](std::exception_ptr, Result<> done) { set = std::move(done); });
  test_.io.restart();
  while (!set) test_.io.run_one();
  ASSERT_TRUE(*set);
  EXPECT_EQ(requested_set().kept_layer, first);
  EXPECT_EQ(requested_set().definition.id, "");
  EXPECT_EQ(requested_set().snapshot, snapshot);
  // When its layer is gone, the snapshot keeps the replacement.
  packages_.made_layer = std::string(32, 'c');
  EXPECT_EQ(requested_set().kept_layer, first);
  EXPECT_EQ(requested_set().kept_layer, packages_.made_layer);
  EXPECT_EQ(test_.store->all_snapshots()->front().layer, packages_.made_layer);
  EXPECT_EQ(test_.templates->find_id(own)->layer, std::string(32, 'd'));
}

TEST(PackageOptions, AHashNamesItsAlgorithm) {
  packages::LayerView layer;
  layer.packages = {{"good", "1.0", "good-1.0-py3-none-any.whl", std::string(64, 'f')},
                    {"lodash", "4.17.21", "lodash-4.17.21.tgz", "sha512-AAAA=="}};
  const json::object shown = packages::layer_json(layer, "*");
  EXPECT_EQ(shown.at("packages").at(0).at("hash").as_string(), "sha256:" + std::string(64, 'f'));
  EXPECT_EQ(shown.at("packages").at(1).at("hash"), "sha512-AAAA==");
}

TEST(PackageOptions, ALayerIsIdentifiedByItsId) {
  const std::string id(32, 'a');
  EXPECT_EQ(packages::layer_label("/var/lib/glovebox/layers/sets/" + id + "/tree"), id);
  for (const std::string& other :
       {std::string("/opt/data"), std::string("/opt/tree"), "/" + id, id + "x/tree"}) {
    EXPECT_EQ(packages::layer_label(other), other);
  }
}

}  // namespace
}  // namespace glovebox::api
