#include "runs/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/test_server.h"

namespace glovebox::api {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result<runs::RunPlan> plan(TestServer& test, std::string_view body) {
  auto request = wire::parse_run_request(body);
  EXPECT_TRUE(request) << request.error().message();
  return test.api->planner.plan(std::move(*request), "default");
}

TEST(RunPlan, PythonGoesToTheRuntime) {
  TestServer test;
  const auto made = plan(test, R"({"language":"python","code":"1","args":["a"]})");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->job.template_name, "python");
  ASSERT_TRUE(made->job.job);
  EXPECT_FALSE(made->job.exec);
  EXPECT_EQ(made->job.job->name, "main.py");
  EXPECT_EQ(made->job.job->code, "1");
  EXPECT_THAT(made->job.job->args, ElementsAre("a"));
  EXPECT_THAT(made->job.job->env, Contains("HOME=/home/user"));
}

TEST(RunPlan, ShellCodeRunsInTheBaseTemplate) {
  TestServer test;
  const auto made = plan(test, R"({"language":"sh","code":"echo $1","args":["x"]})");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->job.template_name, "base");
  EXPECT_FALSE(made->job.job);
  EXPECT_THAT(made->job.exec->argv, ElementsAre("/bin/bash", "-c", "echo $1", "bash", "x"));
}

TEST(RunPlan, TheCallersVariablesWin) {
  TestServer test;
  test.node.known[1].description.env = {"LANG=de_DE.UTF-8", "X=template"};
  const auto made = plan(test, R"({"language":"python","code":"","env":{"X":"caller"}})");
  EXPECT_THAT(made->job.job->env, Contains("X=caller"));
  EXPECT_THAT(made->job.job->env, Not(Contains("X=template")));
  EXPECT_THAT(made->job.job->env, Contains("LANG=de_DE.UTF-8"));
  EXPECT_THAT(made->job.job->env, Not(Contains("LANG=C.UTF-8")));
}

TEST(RunPlan, RefusesAMissingOrUnsuitableTemplate) {
  TestServer test;
  EXPECT_EQ(plan(test, R"({"template":"nothing","code":""})").error().code(), Errc::kNotFound);
  const auto other = plan(test, R"({"template":"node","language":"python","code":""})");
  EXPECT_EQ(other.error().code(), Errc::kInvalidArgument);
  EXPECT_THAT(other.error().message(), HasSubstr("runs javascript, not python"));
  test.node.known[1].state = RuntimeState::kRemoved;
  EXPECT_EQ(plan(test, R"({"language":"python","code":""})").error().code(), Errc::kNotFound);
}

TEST(RunPlan, IsUnavailableBeforeTheLauncherHasReportedTemplates) {
  TestServer test;
  test.node.known.clear();
  EXPECT_EQ(plan(test, R"({"language":"python","code":""})").error().code(), Errc::kUnavailable);
}

Result<runs::RunPlan> plan_image(TestServer& test, std::string_view body, ImageConfig config) {
  auto request = wire::parse_run_request(body);
  EXPECT_TRUE(request) << request.error().message();
  request->profile.image_use =
      ImageUse{.layer = std::string(32, 'a'), .name = "x:1", .config = std::move(config)};
  return test.api->planner.plan(std::move(*request), "default");
}

TEST(RunPlan, AnImagesConfigurationIsHonoured) {
  TestServer test;
  const ImageConfig config{.user = "app",
                           .workdir = "/srv",
                           .env = {"PATH=/bin", "A=image"},
                           .entrypoint = {"/entry"},
                           .cmd = {"word"}};
  const auto own = plan_image(test, R"({"profile":{"image":"x:1"}})", config);
  ASSERT_TRUE(own) << own.error().message();
  EXPECT_THAT(own->job.exec->argv, ElementsAre("/entry", "word"));
  EXPECT_EQ(own->job.exec->user, "app");
  EXPECT_EQ(own->job.exec->workdir, "/srv");
  EXPECT_THAT(own->job.exec->env, Contains("PATH=/bin"));
  EXPECT_THAT(own->job.exec->env, Contains("GLOVEBOX_IMAGE=x:1"));
  ASSERT_TRUE(own->set);
  EXPECT_EQ(own->set->definition.image, std::string(32, 'a'));
  EXPECT_TRUE(own->job.template_name.empty());

  const auto code = plan_image(test,
                               R"({"language":"python","code":"1","args":["z"],"workdir":"/w",
                                   "env":{"A":"caller"},"profile":{"image":"x:1"}})",
                               config);
  ASSERT_TRUE(code) << code.error().message();
  ASSERT_TRUE(code->job.job);
  EXPECT_TRUE(code->job.image);
  EXPECT_EQ(code->job.job->code, "1");
  EXPECT_THAT(code->job.job->args, ElementsAre("z"));
  EXPECT_EQ(code->job.job->workdir, "/w");
  EXPECT_THAT(code->job.job->env, Contains("A=caller"));
  EXPECT_THAT(code->job.job->env, Not(Contains("A=image")));
  EXPECT_EQ(code->set->definition.from, "python");
  EXPECT_THAT(code->set->definition.env, ElementsAre("PATH=/bin"));
  // What waits is the usual user's.
  EXPECT_TRUE(code->job.cold);
  EXPECT_EQ(code->job.user, "app");
  EXPECT_THAT(code->cold_because, HasSubstr("USER app"));
  const auto usual = plan_image(
      test, R"({"language":"python","code":"1","profile":{"image":"x:1"}})", {.user = "1000"});
  EXPECT_FALSE(usual->job.cold);
  EXPECT_EQ(usual->cold_because, "");

  const auto shell =
      plan_image(test, R"({"language":"shell","code":"ls","profile":{"image":"x:1"}})", config);
  EXPECT_THAT(shell->job.exec->argv, ElementsAre("/bin/sh", "-c", "ls", "sh"));
  EXPECT_EQ(shell->set->definition.from, "base");
  EXPECT_THAT(shell->cold_because, HasSubstr("are started"));

  const auto root =
      plan_image(test, R"({"command":"x","profile":{"image":"x:1"}})", {.user = "0:0"});
  EXPECT_THAT(root->job.exec->env, Contains("HOME=/root"));
  EXPECT_EQ(root->job.exec->workdir, "/home/user");
  const auto nothing = plan_image(test, R"({"profile":{"image":"x:1"}})", {});
  EXPECT_THAT(nothing.error().message(), HasSubstr("neither ENTRYPOINT nor CMD"));
  EXPECT_NE(code->profile_hash, plan(test, R"({"language":"python","code":"1"})")->profile_hash);
}

TEST(RunPlan, AnImageMustHaveBeenResolved) {
  TestServer test;
  const auto made = plan(test, R"({"command":"x","profile":{"image":"x:1"}})");
  EXPECT_EQ(made.error().code(), Errc::kInvalidArgument);
}

TEST(RunPlan, TheTemplatesLimitsAreTheDefault) {
  TestServer test;
  test.node.known[1].description.limits.memory_bytes = 99u << 20;
  const auto made = plan(test, R"({"language":"python","code":"","profile":{"pids":7}})");
  EXPECT_EQ(made->job.limits.memory_bytes, 99u << 20);
  EXPECT_EQ(made->job.limits.pids, 7u);
  EXPECT_TRUE(made->job.limits.was_asked_for(LimitKind::kPids));
  EXPECT_FALSE(made->job.limits.was_asked_for(LimitKind::kMemory));
  const auto same = plan(
      test,
      R"({"language":"python","code":"2","env":{"A":"1"},"profile":{"memory_mb":99,"pids":7}})");
  EXPECT_EQ(made->profile_hash, same->profile_hash);
}

TEST(RunPlan, ARequestMayOnlyRaiseTheFloor) {
  api::ApiSettings settings;
  settings.min_grade = Grade::kJail;
  TestServer test(settings);
  EXPECT_EQ(plan(test, R"({"command":"true"})")->job.min_grade, Grade::kJail);
  EXPECT_EQ(plan(test, R"({"command":"true","min_grade":"process"})")->job.min_grade, Grade::kJail);
  EXPECT_EQ(plan(test, R"({"command":"true","min_grade":"vm"})")->job.min_grade, Grade::kVm);
}

TEST(RunPlan, ARequestMayNameAnEngineThatServersMayUse) {
  TestServer test;
  EXPECT_EQ(plan(test, R"({"command":"true"})")->job.engine, EngineKind::kJail);
  EXPECT_EQ(plan(test, R"({"command":"true","engine":"jail"})")->job.engine, EngineKind::kJail);
  const auto refused = plan(test, R"({"command":"true","engine":"process"})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kPolicy);
  EXPECT_THAT(refused.error().message(), HasSubstr("engine: process: "));
  const auto unknown = wire::parse_run_request(R"({"command":"true","engine":"docker"})");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("engine: must be jail or process"));
}

TEST(RunPlan, RunsThatShareAnInterpreterHaveAllButTheirInputInCommon) {
  TestServer test;
  const auto key_of = [&test](const std::string& more, const std::string& code = "1") {
    auto made = plan(test, R"({"language":"python","code":")" + code +
                               R"(","profile":{"reuse":"interpreter"})" + more + "}");
    EXPECT_TRUE(made) << made.error().message();
    return made ? runs::reuse_key(*made, "key") : "";
  };
  const std::string key = key_of("");
  EXPECT_EQ(key_of(R"(,"args":["a"],"stdin":"b")"), key);
  EXPECT_NE(key_of("", "2"), key);
  EXPECT_NE(key_of(R"(,"env":{"A":"1"})"), key);
  EXPECT_NE(key_of(R"(,"workdir":"/tmp")"), key);
  EXPECT_NE(key_of(R"(,"files":[{"path":"a","content":""}])"), key);
  EXPECT_NE(key_of(R"(,"files":[{"path":"a","content":"x"}])"),
            key_of(R"(,"files":[{"path":"a","content":"y"}])"));
  const auto made = plan(test, R"({"language":"python","code":"1","args":["a"],"stdin":"in",
                                   "profile":{"reuse":"interpreter"}})");
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->job.shares_interpreter);
  EXPECT_TRUE(made->job.job->args.empty() && made->job.stdin_bytes.empty());
  EXPECT_THAT(made->job.call, HasSubstr("in"));
  EXPECT_EQ(made->job.job->name, "glovebox:calls");
}

}  // namespace
}  // namespace glovebox::api
