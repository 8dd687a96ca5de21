// E2B's control plane over its routes, with the real sessions and the real store, over a fake node.
#include "dialects/e2b/control/sandbox_request.h"
#include "dialects/e2b/testing/sandboxes_fixture.h"

namespace glovebox::e2b {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

api::ApiSettings with_domain(std::string domain) {
  api::ApiSettings settings;
  settings.domain = std::move(domain);
  return settings;
}

api::ApiSettings off_loopback() {
  api::ApiSettings settings;
  settings.is_loopback = false;
  return settings;
}

TEST_F(E2bSandboxes, ACreatedOneHasAllFieldsThatClientsNeed) {
  const json::value made =
      value(call(Method::kPost, "/sandboxes", R"({"templateID":"python","metadata":{"job":"42"},
           "envVars":{"FOO":"bar"},"timeout":60,"secure":true,"autoPause":true,
           "autoResume":{"enabled":true},"network":{"allowPublicTraffic":false}})"),
            201);
  const std::string id(made.at("sandboxID").as_string());
  EXPECT_EQ(made.at("templateID").as_string(), "python");
  EXPECT_EQ(made.at("clientID").as_string(), "glovebox");
  EXPECT_EQ(made.at("envdVersion").as_string(), "0.6.13");
  EXPECT_EQ(made.at("domain").as_string(), "localhost");
  EXPECT_TRUE(test_.api->e2b.tokens().is_valid(id, made.at("envdAccessToken").as_string()));
  EXPECT_EQ(std::string(made.at("trafficAccessToken").as_string()),
            test_.session_services->registry.port_access(id).token);

  const json::value shown = value(call(Method::kGet, "/sandboxes/" + id), 200);
  EXPECT_EQ(shown.at("state").as_string(), "running");
  EXPECT_EQ(json::serialize(shown.at("metadata")), R"({"job":"42"})");
  EXPECT_EQ(json::serialize(shown.at("lifecycle")), R"({"onTimeout":"pause","autoResume":true})");
  EXPECT_EQ(shown.at("envdAccessToken"), made.at("envdAccessToken"));
  for (const char* number : {"cpuCount", "memoryMB", "diskSizeMB"}) {
    EXPECT_GT(shown.at(number).to_number<int>(), 0) << number;
  }
  EXPECT_THAT(std::string(shown.at("startedAt").as_string()), HasSubstr("Z"));
  // The same sandbox as /v1's.
  EXPECT_EQ(call(Method::kGet, "/v1/sandboxes/" + id).status, 200);
}

class E2bSandboxesWithADomain : public E2bSandboxes {
 protected:
  E2bSandboxesWithADomain() : E2bSandboxes(with_domain("boxes.example")) {}
};

TEST_F(E2bSandboxesWithADomain, AreReachedBelowIt) {
  EXPECT_EQ(value(call(Method::kPost, "/v2/sandboxes", "{}"), 201).at("domain").as_string(),
            "boxes.example");
}

TEST_F(E2bSandboxesWithADomain, AreReachedAtThePortThatTheClientUses) {
  const auto domain = [&](const char* host) {
    const http::Headers headers{{"Host", host}};
    const json::value made = value(call(Method::kPost, "/v2/sandboxes", "{}", {}, headers), 201);
    return std::string(made.at("domain").as_string());
  };
  EXPECT_EQ(domain("api.boxes.example:8443"), "boxes.example:8443");
  EXPECT_EQ(domain("api.boxes.example"), "boxes.example");
  EXPECT_EQ(domain("127.0.0.1:7070"), "boxes.example");
}

class E2bSandboxesOffLoopback : public E2bSandboxes {
 protected:
  E2bSandboxesOffLoopback() : E2bSandboxes(off_loopback()) {}
};

TEST_F(E2bSandboxesOffLoopback, HaveNoDomainUnlessOneIsConfigured) {
  EXPECT_TRUE(value(call(Method::kPost, "/v2/sandboxes", "{}"), 201).at("domain").is_null());
}

TEST_F(E2bSandboxes, GenerationsHaveTheirOwnDefaultTime) {
  const auto seconds = [this](const std::string& id) {
    return value(call(Method::kGet, "/v1/sandboxes/" + id), 200).at("ttl_s").to_number<int>();
  };
  EXPECT_EQ(seconds(make()), 300);
  const json::value older = value(call(Method::kPost, "/sandboxes", "{}"), 201);
  EXPECT_EQ(seconds(std::string(older.at("sandboxID").as_string())), 15);
}

TEST_F(E2bSandboxes, TheSameIdempotencyKeyGivesTheSameSandbox) {
  const auto create = [this](std::string key) {
    const api::Answer answer =
        call(Method::kPost, "/v2/sandboxes", "{}", {}, {{"Idempotency-Key", std::move(key)}});
    return std::string(value(answer, 201).at("sandboxID").as_string());
  };
  const std::string first = create("k-1");
  EXPECT_EQ(create("k-1"), first);
  EXPECT_NE(create("k-2"), first);
}

TEST_F(E2bSandboxes, MistakesHaveAStatusAndACode) {
  expect_refusal(call(Method::kPost, "/v2/sandboxes", R"({"timeout":0})"), 400, "timeout");
  expect_refusal(call(Method::kPost, "/v2/sandboxes", R"({"timeout":1001})"), 400, "timeout");
  expect_refusal(call(Method::kPost, "/v2/sandboxes", "{"), 400);
  expect_refusal(call(Method::kPost, "/v2/sandboxes", R"({"templateID":"nope"})"), 404, "nope");
  expect_refusal(call(Method::kPost, "/v2/sandboxes", R"({"templateID":"other/base"})"), 404);
  expect_refusal(call(Method::kPost, "/v2/sandboxes", R"({"templateID":"base:v2"})"), 404);
  expect_refusal(call(Method::kPost, "/v2/sandboxes", "{}", "e2b_" + std::string(40, '0')), 401);
  expect_refusal(call(Method::kGet, "/volumes"), 501, "hosted");
  // Not a template named "tags", and not the error of another dialect.
  expect_refusal(call(Method::kDelete, "/templates/tags", "{}"), 501, "hosted");
  expect_refusal(call(Method::kPost, "/v2/templates/a/builds/b", "{}"), 501, "hosted");
  expect_refusal(call(Method::kGet, "/templates/base"), 501, "hosted");
  EXPECT_TRUE(specs_.empty());
  make(R"({"templateID":"default/base:default"})");
}

TEST_F(E2bSandboxes, EndedOnesAreNotFound) {
  const std::string id = make();
  EXPECT_EQ(call(Method::kDelete, "/sandboxes/" + id).status, 204);
  const std::string unknown = "sb" + std::string(20, 'a');
  for (const std::string& gone : {id, unknown, std::string("..%2F..")}) {
    expect_refusal(call(Method::kGet, "/sandboxes/" + gone), 404);
    expect_refusal(call(Method::kDelete, "/sandboxes/" + gone), 404);
    expect_refusal(call(Method::kPost, "/sandboxes/" + gone + "/timeout", R"({"timeout":5})"), 404);
    expect_refusal(call(Method::kPost, "/sandboxes/" + gone + "/refreshes", "{}"), 404);
    expect_refusal(call(Method::kPost, "/sandboxes/" + gone + "/pause", "{}"), 404);
    expect_refusal(call(Method::kPost, "/sandboxes/" + gone + "/resume", "{}"), 404);
    expect_refusal(call(Method::kPost, "/v2/sandboxes/" + gone + "/connect", "{}"), 404);
    expect_refusal(call(Method::kPost, "/sandboxes/" + gone + "/snapshots", "{}"), 404);
    expect_refusal(call(Method::kPost, "/sandboxes/" + gone + "/fork", "{}"), 404);
    expect_refusal(call(Method::kGet, "/sandboxes/" + gone + "/metrics"), 404);
    expect_refusal(call(Method::kPut, "/sandboxes/" + gone + "/network", "{}"), 404);
  }
}

TEST_F(E2bSandboxes, OnesOfAnotherProjectAreNotFound) {
  const std::string id = make();
  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  expect_refusal(call(Method::kGet, "/sandboxes/" + id, {}, other), 404);
  expect_refusal(call(Method::kDelete, "/sandboxes/" + id, {}, other), 404);
  expect_refusal(call(Method::kPost, "/v2/sandboxes/" + id + "/connect", "{}", other), 404);
  EXPECT_TRUE(listed({}, other).empty());
  EXPECT_EQ(call(Method::kGet, "/v2/sandboxes", {}, other).headers.get("X-Total-Running"), "0");
  EXPECT_EQ(text(id, "state"), "running");
}

TEST_F(E2bSandboxes, TimeoutMayShortenAndConnectNeverDoes) {
  const std::string id = make(R"({"timeout":500})");
  const std::string at_first = text(id, "endAt");
  EXPECT_EQ(call(Method::kPost, "/v2/sandboxes/" + id + "/connect", R"({"timeout":5})").status,
            200);
  EXPECT_EQ(text(id, "endAt"), at_first);
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/refreshes", R"({"duration":5})").status,
            204);
  EXPECT_EQ(text(id, "endAt"), at_first);
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/timeout", R"({"timeout":50})").status, 204);
  const std::string sooner = text(id, "endAt");
  EXPECT_LT(sooner, at_first);
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/connect", R"({"timeout":100})").status, 200);
  EXPECT_GT(text(id, "endAt"), sooner);
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/timeout", R"({"timeout":1001})"), 400);
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/timeout", "{}"), 400);
}

TEST_F(E2bSandboxes, ATimeoutOfZeroExpiresNow) {
  const std::string killed = make();
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + killed + "/timeout", R"({"timeout":0})").status,
            204);
  expect_refusal(call(Method::kGet, "/sandboxes/" + killed), 404);
  const std::string paused = make(R"({"autoPause":true})");
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + paused + "/timeout", R"({"timeout":0})").status,
            204);
  EXPECT_EQ(text(paused, "state"), "paused");
}

TEST_F(E2bSandboxes, PausedOnesAreResumedByConnect) {
  const std::string id = make();
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/pause", R"({"memory":true})").status, 204);
  EXPECT_EQ(text(id, "state"), "paused");
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/pause", "{}"), 409);
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/timeout", R"({"timeout":5})"), 404);
  const json::value token =
      value(call(Method::kPost, "/v2/sandboxes/" + id + "/connect", R"({"timeout":60})"), 201)
          .at("envdAccessToken");
  EXPECT_TRUE(test_.api->e2b.tokens().is_valid(id, token.as_string()));
  EXPECT_EQ(text(id, "state"), "running");
  EXPECT_EQ(call(Method::kPost, "/v2/sandboxes/" + id + "/connect", "{}").status, 200);
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/resume", "{}"), 409);
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/pause", "{}").status, 204);
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/resume", "{}").status, 201);
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/pause", "{}").status, 204);
  EXPECT_EQ(call(Method::kDelete, "/sandboxes/" + id).status, 204);
}

TEST_F(E2bSandboxes, TooManyPausedAreRefusedWithoutRetry) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(call(Method::kPost, "/sandboxes/" + make() + "/pause", "{}").status, 204);
  }
  const api::Answer refused = call(Method::kPost, "/sandboxes/" + make() + "/pause", "{}");
  expect_refusal(refused, 429);
  EXPECT_EQ(refused.headers.get("Should-Retry"), "false");
}

TEST_F(E2bSandboxes, AreListedByFilter) {
  const std::string first = make(R"({"metadata":{"a":"b c","k":"1"}})");
  const std::string second = make(R"({"templateID":"python","metadata":{"k":"1"}})");
  const std::string third = make(R"({"autoResume":{"enabled":true},"autoPause":true})");
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + third + "/pause", "{}").status, 204);
  EXPECT_THAT(listed(), ElementsAre(third, second, first));
  EXPECT_THAT(listed("?order=asc"), ElementsAre(first, second, third));
  EXPECT_THAT(listed("?state=paused"), ElementsAre(third));
  EXPECT_THAT(listed("?state=running,paused&order=asc&limit=2"), ElementsAre(first, second));
  EXPECT_THAT(listed("?template=python"), ElementsAre(second));
  EXPECT_THAT(listed("?template=base:default"), ElementsAre(third, first));
  EXPECT_TRUE(listed("?template=nope").empty());
  EXPECT_TRUE(listed("?startedAfter=2999-01-01T00:00:00Z").empty());
  EXPECT_EQ(listed("?startedAfter=" + text(first, "startedAt")).size(), 3u);
  // The test's query is not decoded: this is what the handler sees.
  EXPECT_THAT(listed("?metadata=a=b%2520c"), ElementsAre(first));
  EXPECT_THAT(listed("?metadata=k=1"), ElementsAre(second, first));
  const json::value older = value(call(Method::kGet, "/sandboxes"), 200);
  EXPECT_EQ(older.as_array().size(), 2u);
  EXPECT_EQ(older.at(0).as_object().count("envdAccessToken"), 0u);
  // Ours, not the client's.
  EXPECT_EQ(json::serialize(value(call(Method::kGet, "/sandboxes/" + third), 200).at("metadata")),
            "{}");
}

TEST_F(E2bSandboxes, PagesEndWithoutAToken) {
  std::vector<std::string> all;
  for (int i = 0; i < 4; ++i) all.insert(all.begin(), make());
  api::Answer page = call(Method::kGet, "/v2/sandboxes?limit=2");
  EXPECT_EQ(page.headers.get("X-Total-Running"), "4");
  const std::string token(page.headers.get("X-Next-Token"));
  ASSERT_FALSE(token.empty());
  EXPECT_THAT(listed("?limit=2&nextToken=" + token), ElementsAre(all[2], all[3]));
  page = call(Method::kGet, "/v2/sandboxes?limit=2&nextToken=" + token);
  EXPECT_EQ(page.headers.find("X-Next-Token"), nullptr);
  expect_refusal(call(Method::kGet, "/v2/sandboxes?nextToken=x"), 400);
  expect_refusal(call(Method::kGet, "/v2/sandboxes?state=stopped"), 400);
}

TEST_F(E2bSandboxes, SnapshotsAreTemplatesThatOutliveTheirSandbox) {
  plan_->out = std::string(1000, 'x');
  const std::string id = make();
  const json::value kept = value(
      call(Method::kPost, "/sandboxes/" + id + "/snapshots", R"({"name":"mine","memory":false})"),
      201);
  const std::string snapshot(kept.at("snapshotID").as_string());
  EXPECT_THAT(snapshot, StartsWith("sn"));
  EXPECT_EQ(json::serialize(kept.at("names")), R"(["default/mine:default"])");
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/snapshots", R"({"memory":true})"), 400);
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/snapshots", R"({"name":"base"})"), 400);
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/snapshots", R"({"name":"a b"})"), 400);
  const json::value unnamed =
      value(call(Method::kPost, "/sandboxes/" + id + "/snapshots", "{}"), 201);
  EXPECT_TRUE(unnamed.at("names").as_array().empty());
  EXPECT_EQ(call(Method::kDelete, "/sandboxes/" + id).status, 204);

  for (const std::string& name : {snapshot, snapshot.substr(0, 22), std::string("mine"),
                                  std::string("default/mine:default")}) {
    const json::value made =
        value(call(Method::kPost, "/v2/sandboxes", R"({"templateID":")" + name + "\"}"), 201);
    EXPECT_EQ(std::string(made.at("templateID").as_string()), snapshot.substr(0, 22));
    EXPECT_EQ(made.at("alias").as_string(), "base");
  }
  EXPECT_EQ(plan_->in, std::string(4000, 'x'));
  EXPECT_EQ(listed("?template=mine").size(), 4u);

  const api::Answer page = call(Method::kGet, "/snapshots?limit=1");
  EXPECT_EQ(value(page, 200).as_array().size(), 1u);
  const std::string token(page.headers.get("X-Next-Token"));
  const api::Answer rest = call(Method::kGet, "/snapshots?limit=1&nextToken=" + token);
  EXPECT_EQ(value(rest, 200).as_array().size(), 1u);
  EXPECT_NE(rest.body, page.body);
  EXPECT_EQ(rest.headers.find("X-Next-Token"), nullptr);
  EXPECT_EQ(value(call(Method::kGet, "/snapshots?sandboxID=" + id), 200).as_array().size(), 2u);
  EXPECT_EQ(value(call(Method::kGet, "/snapshots?name=mine"), 200).as_array().size(), 1u);
  EXPECT_TRUE(value(call(Method::kGet, "/snapshots?name=min"), 200).as_array().empty());
  expect_refusal(call(Method::kGet, "/snapshots?nextToken=x"), 400);

  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  const std::string escaped = snapshot.substr(0, 22) + "%3Adefault";
  expect_refusal(call(Method::kPost, "/v2/sandboxes", R"({"templateID":"mine"})", other), 404);
  expect_refusal(call(Method::kDelete, "/templates/" + escaped, {}, other), 404);
  EXPECT_EQ(call(Method::kDelete, "/templates/" + escaped).status, 204);
  expect_refusal(call(Method::kDelete, "/templates/" + escaped), 404);
  expect_refusal(call(Method::kDelete, "/templates/base"), 403);
}

TEST_F(E2bSandboxes, AForkHasTheFilesAndTheRulesOfItsSource) {
  plan_->out = "files";
  const std::string id = make(R"({"templateID":"python","metadata":{"a":"1"},"envVars":{"A":"b"},
      "autoPause":true})");
  const json::value forks =
      value(call(Method::kPost, "/sandboxes/" + id + "/fork", R"({"count":2,"timeout":60})"), 201);
  ASSERT_EQ(forks.as_array().size(), 2u);
  EXPECT_EQ(plan_->in, "filesfiles");
  for (const json::value& fork : forks.as_array()) {
    const std::string made(fork.at("sandbox").at("sandboxID").as_string());
    EXPECT_NE(made, id);
    const json::value shown = value(call(Method::kGet, "/sandboxes/" + made), 200);
    EXPECT_EQ(json::serialize(shown.at("metadata")), R"({"a":"1"})");
    EXPECT_EQ(shown.at("lifecycle").at("onTimeout").as_string(), "pause");
    EXPECT_EQ(shown.at("memoryMB"),
              value(call(Method::kGet, "/sandboxes/" + id), 200).at("memoryMB"));
  }
  // A limit that was requested for the source applies to the fork, too.
  const std::string small(
      value(call(Method::kPost, "/v1/sandboxes", R"({"profile":{"memory_mb":64}})"), 201)
          .at("id")
          .as_string());
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + small + "/fork", "{}").status, 201);
  EXPECT_EQ(specs_.back().limits.memory_bytes, 64u << 20);
  // The snapshot that it was made of is removed again.
  EXPECT_TRUE(value(call(Method::kGet, "/snapshots"), 200).as_array().empty());
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/fork", R"({"count":0})"), 400);
  EXPECT_EQ(call(Method::kPost, "/sandboxes/" + id + "/pause", "{}").status, 204);
  expect_refusal(call(Method::kPost, "/sandboxes/" + id + "/fork", "{}"), 404, "not running");
}

TEST_F(E2bSandboxes, EachFailedForkHasItsOwnError) {
  const std::string id = make();
  test_.session_service.make = [](const node::SessionSpec&) {
    return Result<std::shared_ptr<node::Session>>(fail(Errc::kResourceExhausted, "no room"));
  };
  const json::value forks =
      value(call(Method::kPost, "/sandboxes/" + id + "/fork", R"({"count":2})"), 201);
  for (const json::value& fork : forks.as_array()) {
    EXPECT_EQ(fork.at("error").at("code").to_number<int>(), 503);
    EXPECT_THAT(std::string(fork.at("error").at("message").as_string()), HasSubstr("no room"));
  }
}

TEST_F(E2bSandboxes, MetricsAndLogsHaveTheirForm) {
  test_.session_service.usage.cpu_us = 1000;
  test_.session_service.usage.memory_bytes = 5 << 20;
  test_.session_service.usage.disk_limit_bytes = 9;
  const std::string id = make();
  const json::value metrics = value(call(Method::kGet, "/sandboxes/" + id + "/metrics"), 200);
  const json::value& last = metrics.as_array().back();
  for (const char* field : {"timestampUnix", "cpuCount", "cpuUsedPct", "memUsed", "memTotal",
                            "memCache", "diskUsed", "diskTotal"}) {
    EXPECT_TRUE(last.at(field).is_number()) << field;
  }
  EXPECT_EQ(last.at("memUsed").to_number<int>(), 5 << 20);
  EXPECT_TRUE(
      value(call(Method::kGet, "/sandboxes/" + id + "/metrics?end=1"), 200).as_array().empty());
  expect_refusal(call(Method::kGet, "/sandboxes/" + id + "/metrics?start=x"), 400);
  const json::value all =
      value(call(Method::kGet, "/sandboxes/metrics?sandbox_ids=" + id + ",nope"), 200);
  EXPECT_EQ(all.at("sandboxes").as_object().size(), 1u);
  const json::value older = value(call(Method::kGet, "/sandboxes/" + id + "/logs"), 200);
  EXPECT_EQ(older.at("logs").at(0).at("line").as_string(), "from base");
  EXPECT_EQ(older.at("logEntries").at(0).at("level").as_string(), "info");
  const json::value newer =
      value(call(Method::kGet, "/v2/sandboxes/" + id + "/logs?direction=backward&limit=1"), 200);
  EXPECT_EQ(newer.at("logs").as_array().size(), 1u);
  EXPECT_TRUE(value(call(Method::kGet, "/v2/sandboxes/" + id + "/logs?cursor=99999999999999"), 200)
                  .at("logs")
                  .as_array()
                  .empty());
}

TEST_F(E2bSandboxes, LogsHaveTheirFirstAndLastLine) {
  const std::string id = make();
  const auto logs = [&](const std::string& path) {
    return value(call(Method::kGet, path), 200).at("logs").as_array();
  };
  const auto ms_of = [](const json::value& line) {
    return parse_time(std::string(line.at("timestamp").as_string())).value();
  };
  const std::string older = "/sandboxes/" + id + "/logs?";
  const std::string newer = "/v2/sandboxes/" + id + "/logs?";
  const json::array all = logs(older);
  ASSERT_FALSE(all.empty());
  const std::int64_t first = ms_of(all.front());
  const std::int64_t last = ms_of(all.back());
  EXPECT_FALSE(logs(older + "start=" + std::to_string(last)).empty());
  EXPECT_TRUE(logs(older + "start=" + std::to_string(last + 1)).empty());
  EXPECT_TRUE(logs(older + "limit=0").empty());
  EXPECT_EQ(logs(older + "limit=1").size(), 1u);
  EXPECT_FALSE(logs(newer + "cursor=" + std::to_string(last)).empty());
  EXPECT_TRUE(logs(newer + "cursor=" + std::to_string(last + 1)).empty());
  const std::string backward = newer + "direction=backward&cursor=";
  EXPECT_FALSE(logs(backward + std::to_string(first)).empty());
  EXPECT_TRUE(logs(backward + std::to_string(first - 1)).empty());
  EXPECT_TRUE(logs(newer + "limit=0").empty());
  EXPECT_EQ(call(Method::kGet, newer + "direction=sideways").status, 400);
}

TEST_F(E2bSandboxes, AnIdempotencyKeyHasAtMost255Characters) {
  const auto create = [this](std::size_t size) {
    return call(Method::kPost, "/v2/sandboxes", "{}", {},
                {{"Idempotency-Key", std::string(size, 'k')}})
        .status;
  };
  EXPECT_EQ(create(255), 201);
  EXPECT_EQ(create(256), 400);
}

TEST_F(E2bSandboxes, TemplatesAreListedAndFound) {
  const json::value all = value(call(Method::kGet, "/templates"), 200);
  EXPECT_EQ(all.at(0).at("templateID").as_string(), "base");
  EXPECT_EQ(all.at(0).at("buildStatus").as_string(), "ready");
  EXPECT_EQ(all.at(0).at("buildID").as_string().size(), 36u);
  EXPECT_EQ(value(call(Method::kGet, "/templates/aliases/base"), 200).at("templateID").as_string(),
            "base");
  expect_refusal(call(Method::kGet, "/templates/aliases/code-interpreter-v1"), 404);
  test_.node.known.push_back(test_.node.known.front());
  test_.node.known.back().description.name = "python-data";
  EXPECT_EQ(value(call(Method::kGet, "/templates/aliases/code-interpreter-v1"), 200)
                .at("templateID")
                .as_string(),
            "python-data");
  const json::value made =
      value(call(Method::kPost, "/v2/sandboxes", R"({"templateID":"code-interpreter-v1"})"), 201);
  EXPECT_EQ(made.at("templateID").as_string(), "python-data");
  EXPECT_EQ(made.at("alias").as_string(), "code-interpreter-v1");
  expect_refusal(call(Method::kGet, "/templates/aliases/nope"), 404);
}

}  // namespace
}  // namespace glovebox::e2b
