// POST /v1/run and the records of runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "node/links/launcher_error.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHello = R"j({"language":"python","code":"print(1+1)"})j";

// A run that lasts until it is cancelled.
node::FakeNode::Play waits_for_the_end() {
  return [](node::RunJob, node::RunSink&,
            std::shared_ptr<node::CancelFlag> cancel) -> Task<node::RunReport> {
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, std::chrono::hours(1));
    cancel->on_cancel([&] { timer.cancel(); });
    if (!cancel->cancelled()) co_await timer.async_wait(kAwaitTuple);
    cancel->on_cancel(nullptr);
    node::RunReport report;
    report.cancelled = true;
    co_return report;
  };
}

TEST(RunRoute, AnswersWithTheResult) {
  TestServer test;
  const Answer answer = test.send(Method::kPost, "/v1/run", test.admin_key, kHello);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json::object body = json::parse(answer.body).as_object();
  EXPECT_EQ(body.at("stdout").as_string(), "2\n");
  EXPECT_EQ(body.at("exit_code").as_int64(), 0);
  EXPECT_EQ(body.at("result").at("text/plain").as_string(), "2");
  EXPECT_EQ(body.at("template").as_string(), "python");
  EXPECT_TRUE(body.at("warm").as_bool());
  EXPECT_EQ(body.at("profile").as_string().size(), 64u);
  ASSERT_EQ(test.node.jobs.size(), 1u);
  EXPECT_EQ(test.node.jobs[0].job->code, "print(1+1)");
  EXPECT_EQ(test.node.jobs[0].owner, "default") << "projects share the host, not keys";
}

TEST(RunRoute, StreamsServerSentEvents) {
  TestServer test;
  const Answer answer = test.send(Method::kPost, "/v1/run", test.admin_key, kHello,
                                  {{"Accept", "text/event-stream"}});
  ASSERT_TRUE(answer.streamed);
  EXPECT_THAT(std::string(answer.headers.get("Content-Type")), HasSubstr("text/event-stream"));
  EXPECT_THAT(answer.body, HasSubstr("event: stdout\ndata: {\"text\":\"2\\n\"}\n\n"));
  EXPECT_THAT(answer.body, HasSubstr("event: result\ndata: "));
  EXPECT_THAT(answer.body, HasSubstr("event: exit\ndata: {"));
  EXPECT_THAT(answer.body, Not(HasSubstr("\"stdout\":")));
}

TEST(RunRoute, StreamsJsonLines) {
  TestServer test;
  const Answer answer = test.send(Method::kPost, "/v1/run", test.admin_key, kHello,
                                  {{"Accept", "application/x-ndjson"}});
  std::istringstream lines(answer.body);
  std::vector<std::string> events;
  for (std::string line; std::getline(lines, line);) {
    events.emplace_back(json::parse(line).at("event").as_string());
  }
  EXPECT_THAT(events, ::testing::ElementsAre("stdout", "result", "exit"));
}

// SHA-256 of "bytes of a bundle".
constexpr const char* kBundle = "9492e16b1f153806c2d701b494232b0d6372eaa82ef5c6f4b693348874c72394";

std::string run_with_bundle() {
  return std::string(R"({"language":"python","code":"1","bundle":")") + kBundle + "\"}";
}

TEST(RunRoute, ABundleIsSentOnceAndNamedByRuns) {
  TestServer test;
  const Answer missing = test.send(Method::kPost, "/v1/run", test.admin_key, run_with_bundle());
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(code_of(missing), "bundle_not_found");
  EXPECT_TRUE(test.node.jobs.empty());

  const std::string target = std::string("/v1/bundles/") + kBundle;
  EXPECT_EQ(test.send(Method::kPut, target, test.admin_key, "bytes of a bundle").status, 204);
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(test.send(Method::kPost, "/v1/run", test.admin_key, run_with_bundle()).status, 200);
  }
  ASSERT_EQ(test.node.jobs.size(), 2u);
  ASSERT_EQ(test.node.jobs[1].files.size(), 1u);
  EXPECT_EQ(test.node.jobs[1].files[0].path.str(), "/home/user/.glovebox-bundle");
  EXPECT_EQ(test.node.jobs[1].files[0].bytes(), "bytes of a bundle");
  EXPECT_EQ(test.node.jobs[0].files[0].shared, test.node.jobs[1].files[0].shared)
      << "many runs must not hold many copies";
}

TEST(RunRoute, ABundleBelongsToItsProjectAndItsDigest) {
  TestServer test;
  const std::string other = test.make_key("other", store::KeyRole::kUser);
  const std::string target = std::string("/v1/bundles/") + kBundle;
  EXPECT_EQ(test.send(Method::kPut, target, {}, "bytes of a bundle").status, 401);
  EXPECT_EQ(test.send(Method::kPut, target, test.admin_key, "other bytes").status, 400);
  EXPECT_EQ(test.send(Method::kPut, "/v1/bundles/x", test.admin_key, "x").status, 400);
  EXPECT_EQ(test.send(Method::kPut, target, test.admin_key, "bytes of a bundle").status, 204);
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", other, run_with_bundle()).status, 404);
}

TEST(RunRoute, BadRequestsNameTheField) {
  TestServer test;
  const Answer answer = test.send(Method::kPost, "/v1/run", test.admin_key,
                                  R"({"language":"python","code":"1","profile":{"pids":0}})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(code_of(answer), "invalid_argument");
  EXPECT_THAT(answer.body, HasSubstr("profile.pids"));
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", test.admin_key, "{").status, 400);
  EXPECT_EQ(
      test.send(Method::kPost, "/v1/run", test.admin_key, R"({"template":"nothing","code":"1"})")
          .status,
      404);
  EXPECT_TRUE(test.node.jobs.empty());
}

TEST(RunRoute, TheCauseOfAnErrorDecidesTheStatus) {
  TestServer test;
  const auto status = [&](Errc code, const char* message) {
    test.node.play = node::refuses(code, message);
    const Answer answer = test.send(Method::kPost, "/v1/run", test.admin_key, kHello);
    return std::to_string(answer.status) + " " + code_of(answer) + " " +
           std::string(answer.headers.get("Retry-After"));
  };
  EXPECT_EQ(status(Errc::kResourceExhausted, "full"), "503 host_full 1");
  EXPECT_EQ(status(Errc::kUnavailable, "the launcher is gone"), "503 unavailable 1");
  EXPECT_EQ(status(Errc::kPolicy, "mount x"), "403 policy ");
  EXPECT_EQ(status(Errc::kUnsupported, "cpu_ms"), "422 unsupported ");
  EXPECT_EQ(status(Errc::kNotFound, "template"), "404 template_not_found ");
}

TEST(RunRoute, AStreamThatNeverStartedIsRefusedWithAStatus) {
  TestServer test;
  test.node.play = node::refuses(Errc::kResourceExhausted, "full");
  const Answer answer = test.send(Method::kPost, "/v1/run", test.admin_key, kHello,
                                  {{"Accept", "text/event-stream"}});
  EXPECT_FALSE(answer.streamed);
  EXPECT_EQ(answer.status, 503);
}

TEST(RunRoute, AKeysOwnLimitIs429) {
  TestServer test;
  const std::string key =
      test.make_key("ours", store::KeyRole::kUser, store::KeyLimits{.runs_per_minute = 2});
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", key, kHello).status, 200);
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", key, kHello).status, 200);
  const Answer third = test.send(Method::kPost, "/v1/run", key, kHello);
  EXPECT_EQ(third.status, 429);
  EXPECT_EQ(code_of(third), "key_limit");
  EXPECT_GT(std::stoi(std::string(third.headers.get("Retry-After"))), 0);
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", test.admin_key, kHello).status, 200);
}

TEST(RunRoute, ADisconnectedClientEndsItsRun) {
  TestServer test;
  test.node.play = waits_for_the_end();
  std::optional<Answer> answer;
  test.begin(Method::kPost, "/v1/run", test.admin_key, kHello, {},
             [&](Answer given) { answer = std::move(given); });
  test.run_until([&] { return !test.node.jobs.empty(); });
  EXPECT_FALSE(answer);
  test.connection->leave();
  test.run_until([&] { return answer.has_value(); });
  EXPECT_EQ(answer->status, 499);
  const json::value runs = json::parse(test.send(Method::kGet, "/v1/runs", test.admin_key).body);
  EXPECT_EQ(runs.at("runs").at(0).at("status").as_string(), "cancelled");
}

TEST(RunRoute, RunsAreRecordedForTheirProject) {
  TestServer test;
  const std::string ours = test.make_key("ours", store::KeyRole::kUser);
  const std::string theirs = test.make_key("theirs", store::KeyRole::kUser);
  const json::value done = json::parse(test.send(Method::kPost, "/v1/run", ours, kHello).body);
  const std::string id(done.at("id").as_string());
  const Answer found = test.send(Method::kGet, "/v1/runs/" + id, ours);
  ASSERT_EQ(found.status, 200) << found.body;
  const json::value run = json::parse(found.body);
  EXPECT_EQ(run.at("stdout").as_string(), "2\n");
  EXPECT_EQ(run.at("status").as_string(), "ok");
  EXPECT_EQ(run.at("answer").at("result").at("text/plain").as_string(), "2");
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs/" + id, theirs).status, 404);
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs/nonsense", ours).status, 404);
  EXPECT_EQ(
      json::parse(test.send(Method::kGet, "/v1/runs", theirs).body).at("runs").as_array().size(),
      0u);
}

TEST(RunRoute, RunsArePaged) {
  TestServer test;
  for (int i = 0; i < 3; ++i) test.send(Method::kPost, "/v1/run", test.admin_key, kHello);
  const json::value first =
      json::parse(test.send(Method::kGet, "/v1/runs?limit=2", test.admin_key).body);
  EXPECT_EQ(first.at("runs").as_array().size(), 2u);
  const std::string cursor(first.at("next_cursor").as_string());
  const json::value rest = json::parse(
      test.send(Method::kGet, "/v1/runs?limit=2&cursor=" + cursor, test.admin_key).body);
  EXPECT_EQ(rest.at("runs").as_array().size(), 1u);
  EXPECT_TRUE(rest.at("next_cursor").is_null());
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs?limit=0", test.admin_key).status, 400);
  EXPECT_EQ(test.send(Method::kGet, "/v1/runs?limt=1", test.admin_key).status, 400);
}

TEST(RunRoute, AnIdempotentRequestRunsOnce) {
  TestServer test;
  const http::Headers named{{"Idempotency-Key", "k1"}};
  const Answer first = test.send(Method::kPost, "/v1/run", test.admin_key, kHello, named);
  const Answer again = test.send(Method::kPost, "/v1/run", test.admin_key, kHello, named);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.headers.get("Idempotent-Replayed"), "true");
  EXPECT_EQ(test.node.jobs.size(), 1u);
  const Answer other = test.send(Method::kPost, "/v1/run", test.admin_key,
                                 R"({"language":"python","code":"2"})", named);
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(code_of(other), "idempotency_key_reused");
}

TEST(RunRoute, AnIdempotencyKeyBelongsToItsRoute) {
  TestServer test;
  const http::Headers named{{"Idempotency-Key", "k1"}};
  const std::string body = R"({"language":"python","code":"def handler(e, c): return 1"})";
  const Answer first = test.send(Method::kPost, "/v1/run", test.admin_key, body, named);
  EXPECT_EQ(first.status, 200);
  const Answer other =
      test.send(Method::kPost, "/v1/functions/invoke", test.admin_key, body, named);
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(code_of(other), "idempotency_key_reused");
  EXPECT_EQ(test.node.jobs.size(), 1u);
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", test.admin_key, body, named).body, first.body);
}

TEST(RunRoute, AKeyForWhichTheProjectHasNoRoomIsRefusedAndDoesNotRun) {
  TestServer test({}, {}, {}, {.max_project_bytes = 20'000});
  const auto send = [&](const std::string& key) {
    return test.send(Method::kPost, "/v1/run", test.admin_key, kHello, {{"Idempotency-Key", key}});
  };
  const Answer first = send("first");
  EXPECT_EQ(first.status, 200);
  Answer next = first;
  for (int i = 0; i < 100 && next.status == 200; ++i) next = send("k" + std::to_string(i));
  EXPECT_EQ(next.status, 507);
  EXPECT_EQ(code_of(next), "disk_full");
  const std::size_t ran = test.node.jobs.size();
  EXPECT_EQ(send("another").status, 507);
  EXPECT_EQ(test.node.jobs.size(), ran);
  EXPECT_EQ(send("first").body, first.body);  // the known ones are answered
  // Without a key there is nothing to promise.
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", test.admin_key, kHello).status, 200);
}

TEST(RunRoute, ARefusedIdempotentRequestMayBeTriedAgain) {
  TestServer test;
  const http::Headers named{{"Idempotency-Key", "k1"}};
  test.node.play = node::refuses(Errc::kResourceExhausted, "full");
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", test.admin_key, kHello, named).status, 503);
  test.node.play = node::says("2\n");
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", test.admin_key, kHello, named).status, 200);
}

TEST(RunRoute, AnInterruptedIdempotentRequestDoesNotRunAgain) {
  TestServer test;
  const auto cut = [&](const char* key, const std::function<Result<node::RunReport>()>& end) {
    test.node.play = [&end](node::RunJob, node::RunSink& sink,
                            std::shared_ptr<node::CancelFlag>) -> Task<node::RunReport> {
      sink.set_may_have_run(true);
      co_return end();
    };
    const http::Headers named{{"Idempotency-Key", key}};
    const Answer first = test.send(Method::kPost, "/v1/run", test.admin_key, kHello, named);
    const std::size_t ran = test.node.jobs.size();
    test.node.play = node::says("2\n");
    const Answer again = test.send(Method::kPost, "/v1/run", test.admin_key, kHello, named);
    EXPECT_EQ(again.status, 409);
    EXPECT_EQ(code_of(again), "interrupted");
    EXPECT_EQ(test.node.jobs.size(), ran);
    return code_of(first);
  };
  EXPECT_EQ(cut("launcher", [] { return fail(node::launcher_error("it went away")); }),
            "launcher_restarting");
  EXPECT_EQ(cut("stop",
                [] {
                  node::RunReport report;
                  report.cancelled = true;
                  return report;
                }),
            "server_stopping");
}

TEST(RunRoute, AnExceptionDoesNotLeaveAnIdempotentRequestRunning) {
  TestServer test;
  const http::Headers named{{"Idempotency-Key", "k1"}};
  test.node.play = [](node::RunJob, node::RunSink& sink,
                      std::shared_ptr<node::CancelFlag>) -> Task<node::RunReport> {
    sink.set_may_have_run(true);
    throw std::runtime_error("a library's");
    co_return node::RunReport();
  };
  EXPECT_EQ(test.send(Method::kPost, "/v1/run", test.admin_key, kHello, named).status, 500);
  const Answer again = test.send(Method::kPost, "/v1/run", test.admin_key, kHello, named);
  EXPECT_EQ(code_of(again), "interrupted");
}

TEST(RunRoute, TheOutputOfOneProjectLeavesRoomForThatOfAnother) {
  ApiSettings settings;
  settings.max_held_output = 100;
  TestServer test(std::move(settings));
  const std::string hostile = test.make_key("hostile", store::KeyRole::kUser);
  const std::string victim = test.make_key("victim", store::KeyRole::kUser);
  asio::steady_timer held(test.io, asio::steady_timer::time_point::max());
  test.node.play = [&held](node::RunJob job, node::RunSink& sink,
                           std::shared_ptr<node::CancelFlag>) -> Task<node::RunReport> {
    const bool is_hostile = job.project == "hostile";
    const std::string text(is_hostile ? 1000u : 20u, 'x');
    co_await sink.on_output(false, text);
    if (is_hostile) (void)co_await held.async_wait(kAwaitTuple);
    co_return node::RunReport();
  };
  std::optional<Answer> first;
  test.begin(Method::kPost, "/v1/run", hostile, kHello, {},
             [&first](Answer answer) { first = std::move(answer); });
  test.run_until([&test] { return test.api->memory_budget.held() > 0; });
  const json::value kept = json::parse(test.send(Method::kPost, "/v1/run", victim, kHello).body);
  EXPECT_EQ(kept.at("stdout").as_string().size(), 20u);
  EXPECT_FALSE(kept.at("truncated").as_bool());
  held.cancel();
  test.run_until([&first] { return first.has_value(); });
  const json::value cut = json::parse(first->body);
  EXPECT_EQ(cut.at("stdout").as_string().size(), 50u);
  EXPECT_TRUE(cut.at("truncated").as_bool());
}

TEST(RunRoute, RunsPublishEvents) {
  TestServer test;
  auto listener = test.events.subscribe("default", std::nullopt);
  test.send(Method::kPost, "/v1/run", test.admin_key, kHello);
  const auto seen = listener->take();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].type, "run.started");
  EXPECT_EQ(seen[1].type, "run.finished");
}

}  // namespace
}  // namespace glovebox::api
