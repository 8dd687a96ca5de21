// POST /v1/run/batch: the jobs that the node gets, and the lines of the answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "api/testing/test_server.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;

constexpr const char* kPath = "/v1/run/batch";

std::vector<json::object> lines_of(const Answer& answer) {
  std::vector<json::object> lines;
  for (std::size_t at = 0; at < answer.body.size();) {
    const std::size_t end = answer.body.find('\n', at);
    lines.push_back(json::parse(answer.body.substr(at, end - at)).as_object());
    at = end + 1;
  }
  return lines;
}

TEST(BatchRoute, RunsEachInputAndAnswersWithALineForEach) {
  TestServer test;
  const Answer answer = test.send(
      Method::kPost, kPath, test.admin_key,
      R"j({"language":"python","code":"print(1+1)","inputs":[{"args":["a"]},{"stdin":"b"},{}]})j");
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_TRUE(answer.streamed);
  const auto lines = lines_of(answer);
  ASSERT_EQ(lines.size(), 3u);
  std::set<std::int64_t> places;
  std::set<std::string> runs;
  for (const json::object& line : lines) {
    places.insert(line.at("index").as_int64());
    runs.insert(std::string(line.at("id").as_string()));
    EXPECT_EQ(line.at("status"), 200);
    EXPECT_EQ(line.at("stdout"), "2\n");
  }
  EXPECT_EQ(places, (std::set<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(runs.size(), 3u);
  ASSERT_EQ(test.node.jobs.size(), 3u);
  std::set<std::string> given;
  for (const node::RunJob& job : test.node.jobs) {
    given.insert((job.job->args.empty() ? "" : job.job->args[0]) + "/" + job.stdin_bytes);
    EXPECT_EQ(job.owner, "default");
  }
  EXPECT_EQ(given, (std::set<std::string>{"a/", "/b", "/"}));
}

TEST(BatchRoute, FilesAreSharedAndReuseHasOneKey) {
  TestServer test;
  const Answer answer = test.send(
      Method::kPost, kPath, test.admin_key,
      R"({"language":"python","code":"1","files":[{"path":"a","content":"x"}],"inputs":[{},{}],
          "profile":{"reuse":"interpreter"}})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_EQ(test.node.jobs.size(), 2u);
  EXPECT_FALSE(test.node.jobs[0].reuse.empty());
  EXPECT_EQ(test.node.jobs[0].reuse, test.node.jobs[1].reuse);
  EXPECT_EQ(test.node.jobs[0].files[0].shared, test.node.jobs[1].files[0].shared);
  EXPECT_EQ(test.node.jobs[0].files[0].bytes(), "x");
}

TEST(BatchRoute, AnErrorIsThatOfItsInput) {
  TestServer test;
  test.node.play = [&test](node::RunJob, node::RunSink&,
                           std::shared_ptr<node::CancelFlag>) -> Task<node::RunReport> {
    if (test.node.jobs.size() == 2) co_return fail(Errc::kResourceExhausted, "the host is full");
    co_return node::RunReport{};
  };
  const Answer answer =
      test.send(Method::kPost, kPath, test.admin_key,
                R"({"language":"python","code":"1","inputs":[{},{},{}],"parallel":1})");
  const auto lines = lines_of(answer);
  ASSERT_EQ(lines.size(), 3u) << answer.body;
  EXPECT_EQ(lines[0].at("status"), 200);
  EXPECT_EQ(lines[1].at("status"), 503);
  EXPECT_EQ(lines[1].at("index"), 1);
  EXPECT_TRUE(lines[1].at("error").as_object().contains("code"));
  EXPECT_EQ(lines[2].at("status"), 200);
}

TEST(BatchRoute, RefusesWhatIsWrongBeforeAnythingRuns) {
  TestServer test;
  for (const char* body : {R"({"language":"python","code":"1"})",
                           R"({"language":"python","code":"1","inputs":[{"x":1}]})", "{"}) {
    EXPECT_EQ(test.send(Method::kPost, kPath, test.admin_key, body).status, 400) << body;
  }
  const char* good = R"({"language":"python","code":"1","inputs":[{}]})";
  EXPECT_EQ(test.send(Method::kPost, kPath, "", good).status, 401);
  EXPECT_EQ(test.send(Method::kPost, kPath, test.admin_key,
                      R"({"template":"nothing","code":"1","inputs":[{}]})")
                .status,
            404);
  EXPECT_EQ(
      test.send(Method::kPost, kPath, test.admin_key, good, {{"Idempotency-Key", "a"}}).status,
      400);
  EXPECT_TRUE(test.node.jobs.empty());
}

}  // namespace
}  // namespace glovebox::api
