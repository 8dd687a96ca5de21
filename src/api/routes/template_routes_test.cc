// /v1/templates: a project's own templates: created, used, hidden from other projects, removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "model/template_rules.h"
#include "runs/run_plan.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TemplateRoutesTest : public ::testing::Test {
 protected:
  TemplateRoutesTest() {
    mine_ = test_.make_key("mine", store::KeyRole::kUser);
    other_ = test_.make_key("other", store::KeyRole::kUser);
  }
  Answer create(const std::string& body, std::string key = {}) {
    return test_.send(Method::kPost, "/v1/templates", key.empty() ? mine_ : key, body);
  }
  Answer get(const std::string& path, std::string key = {}) {
    return test_.send(Method::kGet, "/v1/templates" + path, key.empty() ? mine_ : key);
  }
  Answer remove(const std::string& name, std::string key = {}) {
    return test_.send(Method::kDelete, "/v1/templates/" + name, key.empty() ? mine_ : key);
  }
  std::vector<std::string> names(const std::string& key, const std::string& query = {}) {
    std::vector<std::string> found;
    const json::value list = json::parse(get(query, key).body);
    for (const json::value& one : list.at("templates").as_array()) {
      found.emplace_back(one.at("name").as_string());
    }
    return found;
  }
  Answer run(const std::string& name, const std::string& key) {
    return test_.send(Method::kPost, "/v1/run", key,
                      R"({"template":")" + name + R"(","code":"1"})");
  }

  TestServer test_;
  std::string mine_;
  std::string other_;
};

TEST_F(TemplateRoutesTest, CreatedShownUsedAndRemoved) {
  const Answer made = create(R"({"name":"fast-json","from":"python","description":"with json.tool",
      "env":{"A":"b"},"preload":["json.tool"],"profile":{"memory_mb":200,"pids":9}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(*made.headers.find("Location"), "/v1/templates/fast-json");
  const json::object shown = json::parse(made.body).as_object();
  EXPECT_EQ(shown.at("name"), "fast-json");
  EXPECT_EQ(shown.at("from"), "python");
  EXPECT_EQ(shown.at("project"), "mine");
  EXPECT_EQ(shown.at("description"), "with json.tool");
  EXPECT_EQ(shown.at("env"), (json::object{{"A", "b"}}));
  EXPECT_EQ(shown.at("built_in"), false);
  EXPECT_THAT(made.body, Not(HasSubstr("own.")));

  ASSERT_EQ(test_.template_service.defined.size(), 1u);
  const TemplateDefinition& defined = test_.template_service.defined[0];
  EXPECT_TRUE(is_dynamic_template_id(defined.id));
  EXPECT_THAT(defined.preload, ElementsAre("json.tool"));
  EXPECT_EQ(defined.limits.memory_bytes, 200u << 20);
  EXPECT_TRUE(defined.limits.was_asked_for(LimitKind::kMemory));
  EXPECT_TRUE(defined.limits.was_asked_for(LimitKind::kPids));
  EXPECT_FALSE(defined.limits.was_asked_for(LimitKind::kDisk));

  const Answer ran = run("fast-json", mine_);
  ASSERT_EQ(ran.status, 200) << ran.body;
  EXPECT_EQ(json::parse(ran.body).at("template"), "fast-json");
  EXPECT_EQ(test_.node.jobs.back().template_name, defined.id);
  EXPECT_THAT(test_.node.jobs.back().job->env, Contains("A=b"));

  EXPECT_EQ(remove("fast-json").status, 204);
  EXPECT_THAT(test_.template_service.defined, IsEmpty());
  EXPECT_EQ(get("/fast-json").status, 404);
  EXPECT_EQ(run("fast-json", mine_).status, 404);
  EXPECT_EQ(remove("fast-json").status, 404);
}

TEST_F(TemplateRoutesTest, AnotherProjectCannotSeeIt) {
  ASSERT_EQ(create(R"({"name":"x","from":"python"})").status, 201);
  const std::string id = test_.template_service.defined[0].id;
  EXPECT_EQ(get("/x").status, 200);
  EXPECT_EQ(get("/x", other_).status, 404);
  EXPECT_EQ(remove("x", other_).status, 404);
  EXPECT_EQ(run("x", other_).status, 404);
  EXPECT_THAT(names(mine_), Contains("x"));
  EXPECT_THAT(names(other_), Not(Contains("x")));
  // Not by its id either, with any key.
  for (const std::string& key : {mine_, other_, test_.admin_key}) {
    EXPECT_EQ(get("/" + id, key).status, 404);
    EXPECT_EQ(remove(id, key).status, 404);
    EXPECT_EQ(run(id, key).status, 400);
    EXPECT_THAT(names(key), Not(Contains(id)));
  }
  // The other project can use the name.
  EXPECT_EQ(create(R"({"name":"x","from":"node"})", other_).status, 201);
  EXPECT_EQ(json::parse(get("/x").body).at("from"), "python");
  EXPECT_EQ(json::parse(get("/x", other_).body).at("from"), "node");
  EXPECT_EQ(test_.send(Method::kGet, "/v1/templates?project=mine", other_).status, 403);
  EXPECT_THAT(names(test_.admin_key, "?project=mine"), Contains("x"));
  EXPECT_THAT(names(test_.admin_key), Not(Contains("x")));
}

TEST_F(TemplateRoutesTest, RefusesNamesInUse) {
  const Answer built_in = create(R"({"name":"base","from":"python"})");
  EXPECT_EQ(built_in.status, 409);
  EXPECT_EQ(code_of(built_in), "template_exists");
  ASSERT_EQ(create(R"({"name":"x","from":"python"})").status, 201);
  EXPECT_EQ(create(R"({"name":"x","from":"python"})").status, 409);
}

TEST_F(TemplateRoutesTest, TwoConcurrentRequestsWithOneNameCreateOne) {
  std::vector<int> statuses;
  for (int i = 0; i < 3; ++i) {
    test_.begin(Method::kPost, "/v1/templates", mine_, R"({"name":"x","from":"python"})", {},
                [&](const Answer& answer) { statuses.push_back(answer.status); });
  }
  test_.run_until([&] { return statuses.size() == 3; });
  std::sort(statuses.begin(), statuses.end());
  EXPECT_THAT(statuses, ElementsAre(201, 409, 409));
}

TEST_F(TemplateRoutesTest, ChecksTheBaseTemplate) {
  const Answer nothing = create(R"({"name":"x","from":"nope"})");
  EXPECT_EQ(nothing.status, 404);
  EXPECT_EQ(code_of(nothing), "template_not_found");
  ASSERT_EQ(create(R"({"name":"x","from":"python"})").status, 201);
  EXPECT_EQ(create(R"({"name":"y","from":"x"})").status, 400);
  EXPECT_EQ(create(R"({"name":"x","from":"x"})", other_).status, 404);
}

TEST_F(TemplateRoutesTest, BadRequests) {
  for (const char* body :
       {"",
        "[]",
        "{}",
        R"({"name":"x"})",
        R"({"from":"python"})",
        R"({"name":"X","from":"python"})",
        R"({"name":"own.0123456789abcdefghij","from":"python"})",
        R"({"name":"x","from":"own.0123456789abcdefghij"})",
        R"({"name":"x","from":"../etc"})",
        R"({"name":"x","from":"python","layers":["/etc"]})",
        R"({"name":"x","from":"python","runtime":"node"})",
        R"({"name":"x","from":"python","preload":"json"})",
        R"({"name":"x","from":"python","preload":["/tmp/x.py"]})",
        R"({"name":"x","from":"python","preload":["-c"]})",
        R"({"name":"x","from":"python","preload":["a","a"]})",
        R"({"name":"x","from":"python","env":{"A B":"c"}})",
        R"({"name":"x","from":"python","env":{"LD_PRELOAD":"x"}})",
        R"({"name":"x","from":"python","env":{"A":"\u0000"}})",
        R"({"name":"x","from":"python","description":"two\nlines"})",
        R"({"name":"x","from":"python","profile":{"mounts":[{"name":"a","path":"/a"}]}})",
        R"({"name":"x","from":"python","profile":{"output_kb":5}})",
        R"({"name":"x","from":"python","profile":{"memory_mb":0}})"}) {
    const Answer answer = create(body);
    EXPECT_EQ(answer.status, 400) << body << answer.body;
    EXPECT_EQ(code_of(answer), "invalid_argument");
  }
  EXPECT_THAT(test_.template_service.defined, IsEmpty());
  EXPECT_EQ(remove("python").status, 403);
  EXPECT_EQ(create(R"({"name":"x","from":"python"})", "nope").status, 401);
}

TEST_F(TemplateRoutesTest, LimitsTemplatesPerProject) {
  const auto body = [](int i) {
    return R"({"name":"x)" + std::to_string(i) + R"(","from":"python"})";
  };
  for (int i = 0; i < static_cast<int>(templates::ProjectTemplates::kMostOfAProject); ++i) {
    ASSERT_EQ(create(body(i)).status, 201);
  }
  const Answer more = create(body(99));
  EXPECT_EQ(more.status, 429);
  EXPECT_EQ(code_of(more), "template_limit");
  EXPECT_EQ(create(body(99), other_).status, 201);
  EXPECT_EQ(remove("x0").status, 204);
  EXPECT_EQ(create(body(99)).status, 201);
}

// Creating and removing templates costs time, too.
TEST_F(TemplateRoutesTest, LimitsCreationsPerMinute) {
  const std::string body = R"({"name":"x","from":"python"})";
  for (std::size_t i = 0; i < templates::ProjectTemplates::kMostInAMinute; ++i) {
    ASSERT_EQ(create(body).status, 201);
    // Refused requests do not count.
    ASSERT_EQ(create(body).status, 409);
    ASSERT_EQ(remove("x").status, 204);
  }
  const Answer more = create(body);
  EXPECT_EQ(more.status, 429);
  EXPECT_EQ(code_of(more), "template_limit");
  EXPECT_THAT(more.body, HasSubstr("per minute"));
  ASSERT_NE(more.headers.find("Retry-After"), nullptr);
  const int wait = std::stoi(*more.headers.find("Retry-After"));
  EXPECT_GE(wait, 1);
  EXPECT_LE(wait, 60);
  EXPECT_EQ(create(body, other_).status, 201);
  const auto now = std::chrono::steady_clock::now();
  EXPECT_GT(test_.templates->wait_of("mine", now).count(), 0);
  EXPECT_EQ(test_.templates->wait_of("mine", now + std::chrono::seconds(61)).count(), 0);
  EXPECT_EQ(test_.templates->wait_of("other", now).count(), 0);
}

TEST_F(TemplateRoutesTest, RefusesMoreMemoryThanTheKeyAllows) {
  const std::string small =
      test_.make_key("mine", store::KeyRole::kUser, {.max_memory_bytes = 256ull << 20});
  for (const char* body :
       {R"({"name":"x","from":"python","profile":{"memory_mb":257,"disk_mb":1}})",
        R"({"name":"x","from":"python","profile":{"memory_mb":8,"disk_mb":256}})",
        // Limits that are not given are those of the base.
        R"({"name":"x","from":"python"})",
        R"({"name":"x","from":"python","profile":{"disk_mb":1}})"}) {
    const Answer answer = create(body, small);
    EXPECT_EQ(answer.status, 403) << body << answer.body;
    EXPECT_EQ(code_of(answer), "key_limit");
    EXPECT_THAT(answer.body, HasSubstr("profile: this key may use 256 MB"));
  }
  EXPECT_THAT(test_.template_service.defined, IsEmpty());
  const std::string fits =
      R"({"name":"x","from":"python","profile":{"memory_mb":200,"disk_mb":56}})";
  EXPECT_EQ(create(fits, small).status, 201);
  EXPECT_EQ(create(R"({"name":"y","from":"nope"})", small).status, 404);
}

TEST_F(TemplateRoutesTest, PassesOnRefusalsOfTheLauncher) {
  test_.template_service.refuses = Error(Errc::kPolicy, "profile: the memory limit is too much");
  const Answer refused = create(R"({"name":"x","from":"python"})");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("memory"));
  test_.template_service.refuses = Error(Errc::kUnavailable, "the launcher is not running");
  EXPECT_EQ(create(R"({"name":"x","from":"python"})").status, 503);
  test_.template_service.refuses.reset();
  EXPECT_EQ(get("/x").status, 404);
  EXPECT_EQ(create(R"({"name":"x","from":"python"})").status, 201);
}

TEST_F(TemplateRoutesTest, ShowsWhyTheLauncherNoLongerAcceptsATemplate) {
  ASSERT_EQ(create(R"({"name":"x","from":"python"})").status, 201);
  const std::string id = test_.template_service.defined[0].id;
  test_.template_service.known.clear();
  test_.template_service.refusals.emplace(id, Error(Errc::kPolicy, "past the ceiling"));
  const json::value shown = json::parse(get("/x").body);
  EXPECT_EQ(shown.at("state"), "failed");
  EXPECT_EQ(shown.at("error"), "past the ceiling");
  const Answer ran = run("x", mine_);
  EXPECT_EQ(ran.status, 404);
  EXPECT_THAT(ran.body, HasSubstr("past the ceiling"));
}

TEST_F(TemplateRoutesTest, SurviveARestart) {
  ASSERT_EQ(create(R"({"name":"x","from":"python","preload":["re"]})").status, 201);
  const TemplateDefinition defined = test_.template_service.defined[0];
  node::FakeTemplateService next(test_.node);
  templates::ProjectTemplates book(test_.node, next, *test_.store, {});
  ASSERT_TRUE(book.load());
  EXPECT_THAT(next.defined, ElementsAre(defined));
  ASSERT_NE(book.find("mine", "x"), nullptr);
  EXPECT_EQ(book.find("mine", "x")->definition, defined);
  EXPECT_EQ(book.find("other", "x"), nullptr);
}

TEST_F(TemplateRoutesTest, ASandboxKeepsItsTemplatesVariables) {
  std::vector<node::SessionSpec> specs;
  test_.session_service.make = [&](const node::SessionSpec& spec) {
    specs.push_back(spec);
    return Result<std::shared_ptr<node::Session>>(
        std::make_shared<sessions::FakeIdleSession>(test_.io, spec.template_name));
  };
  ASSERT_EQ(create(R"({"name":"x","from":"python","env":{"A":"template","B":"template"}})").status,
            201);
  const Answer made =
      test_.send(Method::kPost, "/v1/sandboxes", mine_, R"({"template":"x","env":{"A":"own"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(json::parse(made.body).at("template"), "x");
  EXPECT_EQ(specs.at(0).template_name, test_.template_service.defined[0].id);
  const auto id =
      SandboxId::parse(std::string(json::parse(made.body).at("id").as_string())).value();
  EXPECT_EQ(remove("x").status, 204);
  EXPECT_THAT(test_.session_services->registry.environment(id), Contains("A=own"));
  EXPECT_THAT(test_.session_services->registry.environment(id), Contains("B=template"));
  EXPECT_EQ(test_.send(Method::kPost, "/v1/sandboxes", mine_, R"({"template":"x"})").status, 404);
  EXPECT_EQ(test_.send(Method::kPost, "/v1/sandboxes", other_, R"({"template":"x"})").status, 404);
}

TEST_F(TemplateRoutesTest, PoolsAreKeptShownAndPassedOn) {
  const Answer made = create(R"({"name":"x","from":"python","pool":{"min":1,"max":4},
      "session_pool":{"min":2}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const json::object shown = json::parse(made.body).as_object();
  EXPECT_EQ(shown.at("pool"), (json::object{{"min", 1}, {"max", 4}}));
  EXPECT_EQ(shown.at("session_pool"), (json::object{{"min", 2}, {"max", 2}}));
  const std::string id = test_.template_service.defined[0].id;
  const TemplatePools& pools = test_.template_service.pools.at(id);
  EXPECT_EQ(pools.project, "mine");
  EXPECT_EQ(pools.runs, (PoolBounds{1, 4}));
  EXPECT_EQ(pools.sessions, (PoolBounds{2, 2}));
  EXPECT_EQ(remove("x").status, 204);
  EXPECT_EQ(test_.template_service.pools.at(id), TemplatePools{});
}

TEST_F(TemplateRoutesTest, WhatAProjectKeepsWaitingIsBounded) {
  EXPECT_EQ(create(R"({"name":"a","from":"python","pool":{"min":10,"max":20}})").status, 201);
  const Answer refused =
      create(R"({"name":"b","from":"python","pool":{"min":6},"session_pool":{"min":1}})");
  EXPECT_EQ(refused.status, 403) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("16"));
  EXPECT_EQ(create(R"({"name":"b","from":"python","pool":{"min":6}})").status, 201);
  EXPECT_EQ(create(R"({"name":"c","from":"python","pool":{"min":0,"max":9}})").status, 201);
  EXPECT_EQ(create(R"({"name":"b","from":"python","pool":{"min":1}})", other_).status, 201);
}

TEST_F(TemplateRoutesTest, TemplatesThatAreBeingMadeCountForWhatWaits) {
  // Both requests are checked before the first one is stored.
  std::vector<int> statuses;
  for (const char* name : {"a", "b"}) {
    const std::string body =
        std::string(R"({"name":")") + name + R"(","from":"python","pool":{"min":10,"max":10}})";
    test_.begin(Method::kPost, "/v1/templates", mine_, body, {},
                [&](const Answer& given) { statuses.push_back(given.status); });
  }
  test_.run_until([&] { return statuses.size() == 2; });
  EXPECT_THAT(statuses, ::testing::UnorderedElementsAre(201, 403));
}

TEST_F(TemplateRoutesTest, PoolsAreParsedStrictly) {
  for (const char* bad :
       {R"({"min":2,"max":1})", R"({"min":-1})", R"({"least":1})", "3", R"({"max":10001})"}) {
    const std::string body = R"({"name":"x","from":"python","session_pool":)" + std::string(bad);
    EXPECT_EQ(create(body + "}").status, 400) << bad;
  }
}

TEST_F(TemplateRoutesTest, MetricsDoNotNameProjectTemplates) {
  ASSERT_EQ(create(R"({"name":"x","from":"python"})").status, 201);
  node::PoolFigures pool;
  pool.template_name = test_.template_service.defined[0].id;
  pool.hits = 3;
  node::PoolFigures removed;
  removed.template_name = "own.aaaaaaaaaaaaaaaaaaaa";
  removed.hits = 4;
  test_.node.now.pools = {pool, removed};
  const Answer figures = test_.send(Method::kGet, "/metrics", test_.admin_key);
  EXPECT_THAT(figures.body, Not(HasSubstr("own.")));
  EXPECT_THAT(figures.body, Not(HasSubstr("template=\"x\"")));
  EXPECT_THAT(figures.body,
              HasSubstr("glovebox_pool_hits_total{template=\"own\",engine=\"jail\"} 7\n"));
}

}  // namespace
}  // namespace glovebox::api
