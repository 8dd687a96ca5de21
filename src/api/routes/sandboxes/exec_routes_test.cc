// The routes of exec, processes, contexts and code, with a fake session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <csignal>

#include "api/testing/test_server.h"
#include "base/base64.h"
#include "sessions/testing/fake_session.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExecRouteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    key = test.make_key("default", store::KeyRole::kUser);
    session = std::make_shared<sessions::FakeSession>(test.io);
    test.sessions.add({.project = "default", .session = session, .env = {"HOME=/home/user"}});
    base = "/v1/sandboxes/" + session->id().str();
  }

  Answer send(Method method, const std::string& path, std::string body = {}) {
    return test.send(method, base + path, key, std::move(body));
  }
  static json::object object_of(const Answer& answer) {
    EXPECT_LT(answer.status, 300) << answer.body;
    return json::parse(answer.body).as_object();
  }
  std::optional<Answer>& begin(Method method, const std::string& path, std::string body) {
    begun = {};
    test.begin(method, base + path, key, std::move(body), {},
               [this](Answer answer) { begun = std::move(answer); });
    return begun;
  }

  TestServer test;
  std::string key;
  std::string base;
  std::shared_ptr<sessions::FakeSession> session;
  std::optional<Answer> begun;
};

TEST_F(ExecRouteTest, CollectsTheOutputOfACommandAndRemovesTheProcess) {
  session->on_start = [](sessions::FakeProcess& process) {
    process.print("out");
    process.print("err\xff", wire::Stream::kStderr);
    process.exit(3);
    return Result<>();
  };
  const auto answer = object_of(send(Method::kPost, "/exec", R"({"cmd":"x"})"));
  EXPECT_EQ(answer.at("exit_code"), 3);
  EXPECT_EQ(answer.at("stdout"), "out");
  EXPECT_EQ(std::string(answer.at("stderr_base64").as_string()), base64_encode("err\xff"));
  EXPECT_TRUE(answer.at("signal").is_null());
  EXPECT_EQ(answer.at("timed_out"), false);
  EXPECT_EQ(answer.at("metrics").at("cpu_ms").as_double(), 1.5);
  EXPECT_TRUE(session->all.empty());
}

TEST_F(ExecRouteTest, WithArgsACommandIsAProgramAndNoShellReadsIt) {
  session->on_start = [](sessions::FakeProcess& process) {
    process.exit(0);
    return Result<>();
  };
  EXPECT_EQ(send(Method::kPost, "/exec", R"({"cmd":"echo","args":["$HOME","a b"]})").status, 200);
  EXPECT_EQ(send(Method::kPost, "/exec", R"({"argv":["echo"],"args":["x"]})").status, 400);
  EXPECT_EQ(send(Method::kPost, "/exec", R"({"args":["x"]})").status, 400);
  EXPECT_EQ(send(Method::kPost, "/exec", R"({"cmd":"echo","args":"x"})").status, 400);
  const Answer kept =
      send(Method::kPost, "/exec", R"({"cmd":"echo","args":["$HOME"],"background":true})");
  ASSERT_EQ(kept.status, 202);
  EXPECT_THAT(session->last().spec.exec.argv, ElementsAre("echo", "$HOME"));
}

TEST_F(ExecRouteTest, StdinIsWrittenAndClosed) {
  auto& answer = begin(Method::kPost, "/exec", R"({"cmd":"cat","stdin":"hello"})");
  test.run_until([&] { return !session->all.empty() && session->last().input_closed; });
  EXPECT_EQ(session->last().input, "hello");
  EXPECT_TRUE(session->last().spec.has_stdin);
  session->last().exit(0);
  test.run_until([&] { return answer.has_value(); });
  EXPECT_EQ(answer->status, 200);
}

TEST_F(ExecRouteTest, OutputBeyondTheLimitIsReadAndDropped) {
  session->on_start = [](sessions::FakeProcess& process) {
    for (int i = 0; i < 100; ++i) process.print(std::string(1000, 'x'));
    process.exit(0);
    return Result<>();
  };
  const auto answer = object_of(send(Method::kPost, "/exec", R"({"cmd":"yes","output_kb":2})"));
  EXPECT_EQ(answer.at("stdout").as_string().size(), 2048u);
  EXPECT_EQ(answer.at("truncated"), true);
  EXPECT_EQ(answer.at("metrics").at("output_bytes"), 100'000);
}

TEST_F(ExecRouteTest, ATimeoutKillsTheGroup) {
  const auto answer = object_of(send(Method::kPost, "/exec", R"({"cmd":"x","timeout_ms":20})"));
  EXPECT_EQ(answer.at("exit_code"), 124);
  EXPECT_EQ(answer.at("timed_out"), true);
  EXPECT_EQ(answer.at("oom_killed"), false);
}

TEST_F(ExecRouteTest, AProcessThatPrintsWithoutEndTimesOut) {
  // There is always output to read, so the reader never waits until the deadline.
  auto& answer = begin(Method::kPost, "/exec", R"({"cmd":"yes","timeout_ms":50})");
  test.run_until([&] {
    if (!session->all.empty() && !session->last().info.ended) session->last().print("y\n");
    return answer.has_value();
  });
  EXPECT_EQ(object_of(*answer).at("timed_out"), true);
}

TEST_F(ExecRouteTest, ADisconnectedClientKillsItsCommand) {
  auto& answer = begin(Method::kPost, "/exec", R"({"cmd":"sleep 99"})");
  test.run_until([&] { return !session->all.empty(); });
  const auto process = session->all.begin()->second;
  test.run_until([&] { return process->info.attached; });
  test.connection->leave();
  test.run_until([&] { return answer.has_value(); });
  EXPECT_THAT(process->signals, ElementsAre(SIGKILL));
  EXPECT_TRUE(session->all.empty());
}

TEST_F(ExecRouteTest, UsesShIfThereIsNoBash) {
  std::vector<std::string> tried;
  session->on_start = [&tried](sessions::FakeProcess& process) -> Result<> {
    tried.push_back(process.spec.exec.argv[0]);
    if (tried.size() == 1) return fail(Errc::kNotFound, "no such program");
    process.exit(0);
    return {};
  };
  EXPECT_EQ(send(Method::kPost, "/exec", R"({"cmd":"x"})").status, 200);
  EXPECT_THAT(tried, ElementsAre("/bin/bash", "/bin/sh"));
  // A missing program is an invalid argument, not a missing sandbox.
  session->on_start = [](sessions::FakeProcess&) {
    return Result<>(fail(Errc::kNotFound, "no /x"));
  };
  const Answer refused = send(Method::kPost, "/exec", R"({"argv":["/x"]})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("no /x"));
}

TEST_F(ExecRouteTest, AnotherProjectsSandboxIsNotFound) {
  const std::string other = test.make_key("other", store::KeyRole::kUser);
  for (const char* path : {"/processes", "/contexts"}) {
    EXPECT_EQ(test.send(Method::kGet, base + path, other).status, 404) << path;
  }
  EXPECT_EQ(test.send(Method::kPost, base + "/exec", other, R"({"cmd":"x"})").status, 404);
  EXPECT_EQ(test.send(Method::kPost, base + "/code", other, R"({"code":"x"})").status, 404);
}

TEST_F(ExecRouteTest, ABackgroundProcessIsListedWrittenToSignalledAndWaitedFor) {
  const Answer started = send(Method::kPost, "/exec", R"({"cmd":"serve it","background":true})");
  EXPECT_EQ(started.status, 202);
  const auto process = json::parse(started.body);
  const std::string one = "/processes/" + std::to_string(process.at("process").as_int64());
  EXPECT_EQ(process.at("cmd"), "serve it");
  EXPECT_EQ(process.at("state"), "running");
  EXPECT_TRUE(session->last().spec.lossy);
  EXPECT_FALSE(session->last().info.attached);

  EXPECT_EQ(send(Method::kPost, one + "/stdin", R"({"data_base64":"AP8="})").status, 204);
  EXPECT_EQ(session->last().input, std::string("\x00\xff", 2));
  EXPECT_FALSE(session->last().input_closed);
  EXPECT_EQ(send(Method::kPost, one + "/stdin", R"({"data":"z","close":true})").status, 204);
  EXPECT_TRUE(session->last().input_closed);
  EXPECT_EQ(send(Method::kPost, one + "/stdin", R"({"data":"more"})").status, 409);

  EXPECT_EQ(send(Method::kPost, one + "/signal", R"({"signal":"USR1"})").status, 204);
  EXPECT_EQ(send(Method::kPost, one + "/signal", R"({"signal":15})").status, 204);
  EXPECT_THAT(session->last().signals, ElementsAre(SIGUSR1, SIGTERM));
  for (const char* bad : {R"({"signal":"NOPE"})", R"({"signal":0})", R"({"signal":65})", "{}",
                          R"({"signal":1.5})", R"({"signal":-1})"}) {
    EXPECT_EQ(send(Method::kPost, one + "/signal", bad).status, 400) << bad;
  }

  EXPECT_EQ(object_of(send(Method::kGet, one + "/wait?timeout_ms=10")).at("state"), "running");
  auto& waited = begin(Method::kGet, one + "/wait", {});
  test.run_until([&] { return true; });
  session->last().exit(0, SIGTERM);
  test.run_until([&] { return waited.has_value(); });
  EXPECT_EQ(object_of(*waited).at("exit_code"), 128 + SIGTERM);
  const auto listed = object_of(send(Method::kGet, "/processes"));
  EXPECT_EQ(listed.at("processes").as_array().size(), 1u);
  EXPECT_EQ(send(Method::kPost, one + "/signal", R"({"signal":15})").status, 409);
  EXPECT_EQ(send(Method::kDelete, one).status, 204);
  EXPECT_EQ(send(Method::kGet, one).status, 404);
  EXPECT_EQ(send(Method::kGet, "/processes/1x").status, 404);
}

TEST_F(ExecRouteTest, LimitsEndedProcesses) {
  session->on_start = [](sessions::FakeProcess& process) {
    process.exit(0);
    return Result<>();
  };
  for (int i = 0; i < 80; ++i) {
    EXPECT_EQ(send(Method::kPost, "/exec", R"({"cmd":"x","background":true})").status, 202);
  }
  EXPECT_LE(session->all.size(), 65u);
  EXPECT_FALSE(session->all.contains(1));
  EXPECT_TRUE(session->all.contains(80));
}

TEST_F(ExecRouteTest, CodeRunsInTheDefaultContextAndAnswersLikeARun) {
  session->on_cell = [](sessions::FakeProcess& process, const wire::Cell& cell) {
    process.print("printed");
    process.say(R"({"type":"result","mime":{"text/plain":"42"},"main":true})");
    process.say(R"({"type":"result","mime":{"text/html":"<b>"},"main":false})");
    process.end_cell(cell.number);
  };
  const auto answer = object_of(send(Method::kPost, "/code", R"({"code":"x"})"));
  EXPECT_EQ(answer.at("stdout"), "printed");
  EXPECT_EQ(answer.at("result").at("text/plain"), "42");
  EXPECT_EQ(answer.at("results").as_array().size(), 1u);
  EXPECT_TRUE(answer.at("error").is_null());
  EXPECT_EQ(answer.at("context"), "python");
  EXPECT_EQ(answer.at("warm"), true);
  EXPECT_EQ(answer.at("restarted"), false);
  const auto contexts = object_of(send(Method::kGet, "/contexts"));
  ASSERT_EQ(contexts.at("contexts").as_array().size(), 1u);
  EXPECT_EQ(contexts.at("contexts").at(0).at("state"), "idle");
  EXPECT_EQ(contexts.at("contexts").at(0).at("cells"), 1);
  // Its process is listed, but the process routes cannot delete it.
  const auto number = std::to_string(session->last().info.number);
  EXPECT_EQ(object_of(send(Method::kGet, "/processes/" + number)).at("kind"), "context");
  EXPECT_EQ(send(Method::kDelete, "/processes/" + number).status, 409);
}

TEST_F(ExecRouteTest, CodeStreamsLiveEvents) {
  session->on_cell = [](sessions::FakeProcess& process, const wire::Cell& cell) {
    process.print("a\xe2\x82");
    process.print("\xac");
    process.say(R"({"type":"error","name":"ValueError","message":"no","traceback":["x"]})");
    process.end_cell(cell.number, 1);
  };
  const Answer answer = test.send(Method::kPost, base + "/code", key, R"({"code":"x"})",
                                  {{"Accept", "application/x-ndjson"}});
  ASSERT_TRUE(answer.streamed);
  EXPECT_THAT(answer.body, HasSubstr(R"({"event":"stdout","text":"a"})"));
  EXPECT_THAT(answer.body, HasSubstr("{\"event\":\"stdout\",\"text\":\"\xe2\x82\xac\"}"));
  EXPECT_THAT(answer.body, HasSubstr(R"({"event":"error","code":"exception","name":"ValueError")"));
  EXPECT_THAT(answer.body, HasSubstr(R"({"event":"exit",)"));
}

TEST_F(ExecRouteTest, ADeadInterpreterIsAnErrorWithAName) {
  session->on_cell = [](sessions::FakeProcess& process, const wire::Cell&) {
    process.exit(0, SIGSEGV);
  };
  const auto answer = object_of(send(Method::kPost, "/code", R"({"code":"x"})"));
  EXPECT_EQ(answer.at("error").at("name"), "ContextDied");
  EXPECT_EQ(answer.at("error").at("code"), "context_died");
  EXPECT_EQ(answer.at("restarted"), true);
  EXPECT_EQ(answer.at("exit_code"), 128 + SIGSEGV);
}

TEST_F(ExecRouteTest, CodeIsParsedStrictly) {
  for (const char* bad :
       {"{}", R"({"code":1})", R"({"code":"x","language":"cobol"})", R"({"code":"a\u0000"})",
        R"({"code":"x","timeout_ms":-1})", R"({"code":"x","contxt":"y"})"}) {
    EXPECT_EQ(send(Method::kPost, "/code", bad).status, 400) << bad;
  }
  EXPECT_EQ(send(Method::kPost, "/code", R"({"code":"x","context":"none"})").status, 404);
  EXPECT_EQ(send(Method::kPost, "/contexts/none/interrupt").status, 404);
  EXPECT_EQ(send(Method::kDelete, "/contexts/none").status, 404);
}

}  // namespace
}  // namespace glovebox::api
