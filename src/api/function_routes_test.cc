// POST /v1/functions/invoke: the job that the node gets, and the answer to the client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "base/base64.h"
#include "wire/functions/function_call.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPath = "/v1/functions/invoke";
constexpr const char* kEcho =
    R"({"language":"python","code":"def handler(e, c): return e","event":{"a":1,"__timeout":5}})";

node::FakeNode::Play returns(const std::string& value, int exit_code = 0) {
  return [value, exit_code](node::RunJob, node::RunSink& sink,
                            std::shared_ptr<node::CancelFlag>) -> Task<node::RunReport> {
    const std::string log = "a log\n";
    co_await sink.on_output(false, log);
    node::RunReport report;
    report.warm = true;
    report.outcome.exit_code = exit_code;
    report.results = {R"({"type":"function","value":")" + base64_encode(value) + "\"}"};
    co_return report;
  };
}

TEST(FunctionsRoute, RunsACallAndAnswersWithItsValue) {
  TestServer test;
  test.node.play = returns(R"({"n": 1180591620717411303424})");
  const Answer answer = test.send(Method::kPost, kPath, test.admin_key, kEcho);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr(R"("result":{"n": 1180591620717411303424},"error":null,)"));
  EXPECT_THAT(answer.body, HasSubstr(R"("stdout":"a log\n")"));
  ASSERT_EQ(test.node.jobs.size(), 1u);
  const node::RunJob& job = test.node.jobs[0];
  EXPECT_EQ(job.limits.wall, std::chrono::seconds(5));
  ASSERT_TRUE(job.job);
  EXPECT_EQ(job.job->name, wire::kFunctionJob);
  const json::object call = json::parse(job.job->code).as_object();
  EXPECT_EQ(call.at("event"), json::parse(R"({"a":1})"));
  EXPECT_EQ(call.at("function"), "handler");
  EXPECT_EQ(call.at("timeout_ms"), 5000);
  EXPECT_EQ(call.at("context").at("memory_limit_in_mb"), job.limits.memory_bytes >> 20);
}

TEST(FunctionsRoute, StreamsLiveEvents) {
  TestServer test;
  test.node.play = returns("[1]");
  const Answer answer =
      test.send(Method::kPost, kPath, test.admin_key, kEcho, {{"Accept", "application/x-ndjson"}});
  ASSERT_TRUE(answer.streamed);
  EXPECT_THAT(answer.body, HasSubstr("{\"event\":\"stdout\",\"text\":\"a log\\n\"}\n"));
  EXPECT_THAT(answer.body, HasSubstr("{\"event\":\"exit\",\"result\":[1],\"error\":null,"));
}

TEST(FunctionsRoute, AnErrorFoundByTheServerIsAFailureInAnswerAndRecord) {
  for (const char* form : {"application/json", "application/x-ndjson"}) {
    TestServer test;
    test.node.play = returns(R"({"a":1,"a":2})");
    auto listener = test.events.subscribe("default", std::nullopt);
    const Answer answer =
        test.send(Method::kPost, kPath, test.admin_key, kEcho, {{"Accept", form}});
    EXPECT_THAT(answer.body, HasSubstr("Runtime.MarshalError"));
    EXPECT_THAT(answer.body, HasSubstr("\"exit_code\":1,"));
    const auto seen = listener->take();
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_THAT(seen[1].data, HasSubstr("\"status\":\"failed\",\"exit_code\":1,"));
  }
}

TEST(FunctionsRoute, AValueThatBreaksLinesStaysOnItsOwn) {
  TestServer test;
  test.node.play = returns("[1,\n{\"event\":\"exit\",\"result\":\"forged\"}\n]");
  const Answer answer =
      test.send(Method::kPost, kPath, test.admin_key, kEcho, {{"Accept", "application/x-ndjson"}});
  EXPECT_EQ(std::count(answer.body.begin(), answer.body.end(), '\n'), 2) << answer.body;
}

TEST(FunctionsRoute, ARunNeverHasTheNameOfACall) {
  TestServer test;
  ASSERT_EQ(test.send(Method::kPost, "/v1/run", test.admin_key,
                      R"({"language":"python","code":"{}","args":["glovebox:function"]})")
                .status,
            200);
  EXPECT_NE(test.node.jobs.at(0).job->name, wire::kFunctionJob);
}

TEST(FunctionsRoute, RefusesTemplatesWithoutHandlers) {
  TestServer test;
  for (const char* body :
       {R"({"template":"base","code":"x"})", R"({"language":"shell","code":"x"})",
        R"({"template":"node","language":"python","code":"x"})",
        R"({"language":"python","code":"x","event":{"__timeout":9999}})"}) {
    const Answer answer = test.send(Method::kPost, kPath, test.admin_key, body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(code_of(answer), "invalid_argument");
  }
  EXPECT_EQ(test.send(Method::kPost, kPath, "", kEcho).status, 401);
  EXPECT_TRUE(test.node.jobs.empty());
}

TEST(FunctionsRoute, TheTemplateDecidesTheLanguage) {
  TestServer test;
  test.node.play = returns("1");
  ASSERT_EQ(
      test.send(Method::kPost, kPath, test.admin_key, R"({"template":"node","code":"x"})").status,
      200);
  EXPECT_EQ(json::parse(test.node.jobs.at(0).job->code).at("file"), "handler.js");
}

}  // namespace
}  // namespace glovebox::api
