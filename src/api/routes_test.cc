#include "api/route_documentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <vector>

#include "api/docs_page.h"
#include "api/testing/test_server.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::HasSubstr;
using ::testing::Not;

// A path that matches the pattern, with a value for each parameter.
std::string path_of(std::string_view pattern) {
  std::string path(pattern);
  while (path.find('{') != std::string::npos) {
    const std::size_t hole = path.find('{');
    path.replace(hole, path.find('}', hole) + 1 - hole, "x");
  }
  return path;
}

TEST(Routes, WithoutAKeyOnlyOpenRoutesAnswer) {
  ApiSettings settings;
  settings.is_loopback = false;
  TestServer test(settings);
  std::vector<routing::RouteInfo> of_e2b;
  e2b::Dialect::append_info(of_e2b);
  const auto is_e2b = [&of_e2b](const routing::RouteInfo& row) {
    return std::any_of(of_e2b.begin(), of_e2b.end(), [&row](const routing::RouteInfo& one) {
      return one.method == row.method && one.pattern == row.pattern;
    });
  };
  for (const routing::RouteInfo& row : documented_routes()) {
    const Answer answer = test.send(row.method, path_of(row.pattern));
    if (row.access == routing::Access::kOpen) {
      EXPECT_NE(answer.status, 401) << row.pattern;
    } else {
      EXPECT_EQ(answer.status, 401) << row.pattern;
      if (is_e2b(row)) {
        EXPECT_THAT(answer.body, HasSubstr("\"code\":401")) << row.pattern;
      } else {
        EXPECT_EQ(code_of(answer), "unauthorized") << row.pattern;
      }
      EXPECT_THAT(std::string(answer.headers.get("WWW-Authenticate")), HasSubstr("Bearer"));
    }
  }
}

TEST(Routes, OperatorsNeedNoKeyOnLoopbackUnlessAProxyIsInBetween) {
  TestServer test;
  const auto status = [&test](http::Headers headers) {
    return test.send(http::Method::kGet, "/metrics", {}, {}, std::move(headers)).status;
  };
  EXPECT_EQ(status({}), 200);
  EXPECT_EQ(status({{"Host", "127.0.0.1:7070"}}), 200);
  EXPECT_EQ(status({{"Host", "api.example.com"}}), 401);
  EXPECT_EQ(status({{"Host", "localhost"}, {"X-Forwarded-For", "203.0.113.7"}}), 401);
  for (const char* added : {"Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto"}) {
    EXPECT_EQ(status({{"Host", "localhost"}, {added, "x"}}), 401) << added;
  }
  EXPECT_EQ(status({{"Host", "localhost"}, {"Forwarded", "for=203.0.113.7"}}), 401);
}

TEST(Routes, AnInvalidKeyIsRefused) {
  TestServer test;
  const std::string wrong = "gbx_" + std::string(40, '0');
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs", wrong).status, 401);
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs", test.admin_key).status, 200);
  EXPECT_EQ(
      test.send(Method::kGet, "/v1/runs", "", "", {{"Authorization", "bearer " + test.admin_key}})
          .status,
      200);
  EXPECT_EQ(
      test.send(Method::kGet, "/v1/runs", "", "", {{"Authorization", "Basic " + test.admin_key}})
          .status,
      401);
}

TEST(Routes, OnLoopbackMetricsAndDocumentationAreOpen) {
  TestServer test;
  EXPECT_EQ(test.send(Method::kGet, "/metrics").status, 200);
  EXPECT_EQ(test.send(Method::kGet, "/docs").status, 200);
  EXPECT_EQ(test.send(Method::kGet, "/openapi.yaml").status, 200);
  EXPECT_EQ(test.send(Method::kGet, "/v1/templates").status, 401);
}

TEST(Routes, AdminRoutesAreForAdminKeys) {
  TestServer test;
  const std::string user = test.make_key("ours", store::KeyRole::kUser);
  for (const routing::RouteInfo& row : documented_routes()) {
    if (row.access != routing::Access::kAdmin) continue;
    const Answer answer = test.send(row.method, path_of(row.pattern), user);
    EXPECT_EQ(answer.status, 403) << row.pattern;
    EXPECT_EQ(code_of(answer), "admin_only");
  }
}

TEST(Routes, KeysAreCreatedListedAndRevoked) {
  TestServer test;
  const Answer made =
      test.send(Method::kPost, "/v1/keys", test.admin_key,
                R"({"project":"ci","name":"n","limits":{"max_in_flight":2,"max_memory_mb":64}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const json::object key = json::parse(made.body).as_object();
  const std::string secret(key.at("key").as_string());
  EXPECT_EQ(key.at("limits").at("max_memory_mb").as_int64(), 64);
  EXPECT_EQ(made.headers.get("Cache-Control"), "no-store");
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs", secret).status, 200);
  const Answer list = test.send(Method::kGet, "/v1/keys?project=ci", test.admin_key);
  EXPECT_EQ(json::parse(list.body).at("keys").as_array().size(), 1u);
  EXPECT_THAT(list.body, Not(HasSubstr(secret)));
  const std::string id(key.at("id").as_string());
  EXPECT_EQ(test.send(Method::kDelete, "/v1/keys/" + id, test.admin_key).status, 204);
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs", secret).status, 401);
  EXPECT_EQ(test.send(Method::kDelete, "/v1/keys/nothing", test.admin_key).status, 404);
}

TEST(Routes, AKeyRequestIsReadStrictly) {
  TestServer test;
  const auto complaint = [&](const char* body) {
    const Answer answer = test.send(Method::kPost, "/v1/keys", test.admin_key, body);
    EXPECT_EQ(answer.status, 400);
    return answer.body;
  };
  EXPECT_THAT(complaint(R"({"projet":"x"})"), HasSubstr("did you mean \\\"project\\\""));
  EXPECT_THAT(complaint(R"({"role":"root"})"), HasSubstr("role: must be user or admin"));
  EXPECT_THAT(complaint(R"({"project":"../x"})"), HasSubstr("project"));
  EXPECT_THAT(complaint("nonsense"), HasSubstr("invalid JSON"));
}

TEST(Routes, TemplatesHaveAState) {
  TestServer test;
  test.node.known[1].state = RuntimeState::kFailed;
  test.node.known[1].error = "cannot import pandas";
  const json::value list =
      json::parse(test.send(Method::kGet, "/v1/templates", test.admin_key).body);
  EXPECT_EQ(list.at("templates").as_array().size(), 3u);
  const json::value python =
      json::parse(test.send(Method::kGet, "/v1/templates/python", test.admin_key).body);
  EXPECT_EQ(python.at("state").as_string(), "failed");
  EXPECT_EQ(python.at("error").as_string(), "cannot import pandas");
  EXPECT_EQ(test.send(Method::kGet, "/v1/templates/none", test.admin_key).status, 404);
}

TEST(Routes, ReadyOnlyWithALauncherAndAStore) {
  TestServer test;
  EXPECT_EQ(test.send(Method::kGet, "/health").status, 200);
  EXPECT_EQ(test.send(Method::kGet, "/health/ready").status, 200);
  test.node.now.launcher_up = false;
  const Answer answer = test.send(Method::kGet, "/health/ready");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("there is no launcher"));
  EXPECT_EQ(test.send(Method::kGet, "/health").status, 200);
}

TEST(Routes, NotReadyWhileTheHostIsFull) {
  TestServer test;
  test.node.now.host.full_reason = "all sandboxes together have 99 of at most 100 processes";
  const Answer answer = test.send(Method::kGet, "/health/ready");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("the host is full: all sandboxes together have 99"));
  test.node.now.host.full_reason.clear();
  EXPECT_EQ(test.send(Method::kGet, "/health/ready").status, 200);
}

TEST(Routes, GarbageIsCollectedOnDemand) {
  TestServer test;
  const Answer answer = test.send(Method::kPost, "/v1/gc", test.admin_key);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("runs_removed"));
}

TEST(Routes, ThePageHasEveryRouteAndItsPartsAreServedWithAStrictPolicy) {
  TestServer test;
  const Answer page = test.send(Method::kGet, "/docs");
  for (const routing::RouteInfo& row : documented_routes())
    EXPECT_THAT(page.body, HasSubstr(std::string(row.pattern)));
  EXPECT_EQ(page.headers.get("Content-Type"), "text/html; charset=utf-8");
  const Answer script = test.send(Method::kGet, "/docs/page.js");
  EXPECT_EQ(script.headers.get("Content-Type"), "text/javascript; charset=utf-8");
  const Answer style = test.send(Method::kGet, "/docs/page.css");
  EXPECT_EQ(style.headers.get("Content-Type"), "text/css; charset=utf-8");
  for (const Answer& part : {page, script, style}) {
    EXPECT_EQ(part.status, 200);
    EXPECT_THAT(part.headers.get("Content-Security-Policy"), HasSubstr("default-src 'none'; "));
    EXPECT_THAT(part.headers.get("Content-Security-Policy"), Not(HasSubstr("unsafe")));
    EXPECT_EQ(part.headers.get("X-Content-Type-Options"), "nosniff");
  }
  const Answer contract = test.send(Method::kGet, "/openapi.json");
  EXPECT_EQ(boost::json::parse(contract.body).at("info").at("title"), "Glovebox");
}

TEST(Routes, EventsAreStreamedUntilTheHubCloses) {
  TestServer test;
  const std::string ours = test.make_key("ours", store::KeyRole::kUser);
  test.events.publish("ours", "run.finished", "{\"id\":\"a\"}");
  test.events.publish("theirs", "run.finished", "{\"id\":\"b\"}");
  std::optional<Answer> answer;
  test.begin(Method::kGet, "/v1/events", ours, "", {{"Last-Event-ID", "0"}},
             [&](Answer given) { answer = std::move(given); });
  test.run_until([&] { return test.events.subscribers() == 1; });
  test.events.publish("ours", "run.started", "{\"id\":\"c\"}");
  test.io.poll();
  test.events.close();
  test.run_until([&] { return answer.has_value(); });
  EXPECT_EQ(answer->status, 200);
  EXPECT_THAT(answer->body, HasSubstr("id: 1\nevent: run.finished\ndata: {\"id\":\"a\"}\n\n"));
  EXPECT_THAT(answer->body, HasSubstr("event: run.started\ndata: {\"id\":\"c\"}"));
  EXPECT_THAT(answer->body, Not(HasSubstr("\"b\"")));
}

TEST(Routes, EventsEndWithTheirKey) {
  TestServer test;
  const Answer made = test.send(Method::kPost, "/v1/keys", test.admin_key, R"({"project":"ours"})");
  const json::value key = json::parse(made.body);
  std::optional<Answer> answer;
  test.begin(Method::kGet, "/v1/events", std::string(key.at("key").as_string()), "", {},
             [&](Answer given) { answer = std::move(given); });
  test.run_until([&] { return test.events.subscribers() == 1; });
  const std::string id(key.at("id").as_string());
  EXPECT_EQ(test.send(Method::kDelete, "/v1/keys/" + id, test.admin_key).status, 204);
  test.events.publish("ours", "run.started", "{\"id\":\"secret\"}");
  test.run_until([&] { return answer.has_value(); });
  EXPECT_THAT(answer->body, Not(HasSubstr("secret")));
  EXPECT_EQ(test.events.subscribers(), 0u);
}

TEST(Routes, EventStreamsPerKeyAreLimited) {
  TestServer test;
  const std::string ours = test.make_key("ours", store::KeyRole::kUser);
  const std::string theirs = test.make_key("theirs", store::KeyRole::kUser);
  std::size_t ended = 0;
  const auto listen = [&](const std::string& key) {
    test.begin(Method::kGet, "/v1/events", key, "", {}, [&](Answer) { ++ended; });
  };
  for (std::size_t i = 0; i < events::EventHub::kListenersPerKey; ++i) listen(ours);
  test.run_until([&] { return test.events.subscribers() == events::EventHub::kListenersPerKey; });
  const Answer refused = test.send(Method::kGet, "/v1/events", ours);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(code_of(refused), "too_many_listeners");
  EXPECT_EQ(refused.headers.get("Retry-After"), "5");
  listen(theirs);
  test.run_until(
      [&] { return test.events.subscribers() == events::EventHub::kListenersPerKey + 1; });
  test.events.close();
  test.run_until([&] { return ended == events::EventHub::kListenersPerKey + 1; });
}

TEST(Routes, OnlyAnAdminSeesOtherProjects) {
  TestServer test;
  const std::string ours = test.make_key("ours", store::KeyRole::kUser);
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs?project=theirs", ours).status, 403);
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs?project=ours", ours).status, 200);
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs?project=ours", test.admin_key).status, 200);
  EXPECT_EQ(test.send(Method::kGet, "/v1/events?project=*", ours).status, 403);
}

}  // namespace
}  // namespace glovebox::api
