// The code interpreter's routes, with fake contexts.
#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>

#include "dialects/e2b/interpreter/interpreter_json.h"
#include "dialects/e2b/interpreter/interpreter_stream.h"
#include "dialects/e2b/testing/process_fixture.h"
#include "routing/large_requests.h"
#include "routing/testing/held_worker.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InterpreterTest : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    port = kInterpreterTestPort;
    session->on_cell = [](sessions::FakeProcess& process, const wire::Cell& cell) {
      process.print(cell.code);
      process.end_cell(cell.number);
    };
  }
  static std::vector<json::object> lines_of(const Call& call) {
    std::vector<json::object> lines;
    std::string_view rest = call.writer.body;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      EXPECT_NE(end, std::string_view::npos) << rest;
      lines.push_back(json::parse(rest.substr(0, end)).as_object());
      rest.remove_prefix(end + 1);
    }
    return lines;
  }
  std::vector<json::object> execute(const std::string& body) {
    const Call& one = call(kExecute, body);
    EXPECT_TRUE(one.result->has_value() && (*one.result)->is_streamed);
    EXPECT_TRUE(one.writer.finished);
    return lines_of(one);
  }
  Call& restart(const std::string& context) {
    return call({http::Method::kPost, "/contexts/" + context + "/restart"}, "");
  }
  Call& remove(const std::string& context) {
    return call({http::Method::kDelete, "/contexts/" + context}, "");
  }
  json::array listed() {
    return json::parse(call(kListContexts, "").result->value().body).as_array();
  }
  std::string made(const std::string& body) {
    const Call& one = call(kCreateContext, body);
    EXPECT_EQ(one.result->value().status, 200) << one.result->value().body;
    return std::string(json::parse(one.result->value().body).at("id").as_string());
  }
};

TEST(AsciiJson, HasNoOtherBytes) {
  const json::value value = {{"a", "x\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n"}};
  EXPECT_EQ(ascii_json(value), R"({"a":"x\u00e9\u20ac\ud83d\ude00\n"})");
  EXPECT_EQ(json::parse(ascii_json(value)), value);
}

TEST(AsciiJson, KnowsTheEndsOfEachLength) {
  const std::pair<const char*, const char*> cases[] = {
      {"\x7f", "\x7f"},
      {"\xc2\x80", "\\u0080"},
      {"\xdf\xbf", "\\u07ff"},
      {"\xe0\xa0\x80", "\\u0800"},
      {"\xef\xbf\xbf", "\\uffff"},
      {"\xf0\x90\x80\x80", "\\ud800\\udc00"},
      {"\xf4\x8f\xbf\xbf", "\\udbff\\udfff"},
  };
  for (const auto& [utf8, escaped] : cases) {
    const json::value value(utf8);
    EXPECT_EQ(ascii_json(value), "\"" + std::string(escaped) + "\"");
    EXPECT_EQ(json::parse(ascii_json(value)), value);
  }
}

// A client that leaves before the end.
class LeavingWriter final : public http::ResponseWriter {
 public:
  asio::awaitable<bool> begin(int, http::Headers) override { co_return true; }
  asio::awaitable<bool> write(std::string) override { co_return false; }
  asio::awaitable<bool> finish() override {
    finished = true;
    co_return true;
  }
  bool begun() const override { return true; }

  bool finished = false;
};

TEST(ExecutionStreams, WriteNothingForNothingAndEndNoAnswerOfAClientThatLeft) {
  asio::io_context io;
  LeavingWriter leaving;
  api::RecordingWriter staying;
  bool done = false;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        ExecutionStream stream(io, leaving);
        EXPECT_FALSE(co_await stream.finish());
        EXPECT_FALSE(stream.has_error());
        ExecutionStream other(io, staying);
        EXPECT_TRUE(co_await other.on_output(false, ""));
        EXPECT_TRUE(co_await other.on_result("no result"));
        EXPECT_EQ(staying.body, "");
        EXPECT_FALSE(other.has_error());
        std::string name = "E", value = "v";
        co_await other.error(std::move(name), std::move(value));
        EXPECT_TRUE(other.has_error());
        EXPECT_TRUE(co_await other.finish());
        done = true;
      },
      asio::detached);
  io.run();
  EXPECT_TRUE(done);
  EXPECT_FALSE(leaving.finished);
  EXPECT_TRUE(staying.finished);
}

TEST(ExecuteRequests, HaveNoNulAndOnlyKnownLanguages) {
  EXPECT_TRUE(read_execute(R"({"code":"x"})"));
  EXPECT_FALSE(read_execute(R"({"code":"a\u0000b"})"));
  EXPECT_TRUE(read_context(""));
  EXPECT_EQ(read_context(R"({"cwd":"a"})")->cwd, "/home/user/a");
  EXPECT_EQ(read_context(R"({"cwd":""})")->cwd, "/home/user");
  EXPECT_FALSE(read_context(R"({"cwd":"a\u0000b"})"));
  for (const char* name : {"PYTHON", "Python", "JavaScript"}) EXPECT_TRUE(read_language(name));
  EXPECT_FALSE(read_language("python "));
  EXPECT_EQ(default_language("python"), sessions::Language::kPython);
  EXPECT_FALSE(default_language("py")) << "an id has one spelling";
}

TEST(ExecutionEvent, FormsGetTheirFields) {
  const auto event = execution_event(
      R"({"type":"result","mime":{"text/plain":"'it'","text/html":"<b>","image/png":"AA==",)"
      R"("application/json":{"a":1},"e2b/data":{"c":[1]},"e2b/chart":{"type":"line"},)"
      R"("x/y":"z"},"main":true})");
  const json::value expected = {{"type", "result"},
                                {"is_main_result", true},
                                {"text", "it"},
                                {"html", "<b>"},
                                {"png", "AA=="},
                                {"json", {{"a", 1}}},
                                {"data", {{"c", json::array{1}}}},
                                {"chart", {{"type", "line"}}},
                                {"extra", {{"x/y", "z"}}}};
  EXPECT_EQ(json::value(event), expected) << json::serialize(event);
}

TEST(ExecutionEvent, ChartsAndTablesOfTheRuntimeGetTheirFields) {
  const auto event = execution_event(
      R"({"type":"result","mime":{"application/vnd.glovebox.chart+json":{"type":"line"},)"
      R"("application/vnd.glovebox.table+json":{"c":[1]}}})");
  EXPECT_EQ(event.at("chart"), json::parse(R"({"type":"line"})"));
  EXPECT_EQ(event.at("data"), json::parse(R"({"c":[1]})"));
  EXPECT_TRUE(event.at("extra").as_object().empty());
}

TEST(ExecutionEvent, QuotesGoOnlyWhereTheyMatch) {
  for (const auto& [said, text] :
       std::vector<std::pair<std::string, std::string>>{{"'a'", "a"},
                                                        {"\\\"a\\\"", "a"},
                                                        {"'a\\\"", "'a\""},
                                                        {"'", "'"},
                                                        {"''", ""},
                                                        {"7", "7"}}) {
    const auto event =
        execution_event(R"({"type":"result","mime":{"text/plain":")" + said + R"("}})");
    EXPECT_EQ(event.at("text"), json::value(text));
    EXPECT_EQ(event.at("is_main_result"), false);
  }
}

TEST(ExecutionEvent, FieldsOfTheWrongTypeAreLeftOut) {
  const auto event = execution_event(
      R"({"type":"result","mime":{"text/plain":"2","application/json":2,"e2b/chart":"no"}})");
  EXPECT_FALSE(event.contains("json"));
  EXPECT_FALSE(event.contains("chart"));
  EXPECT_TRUE(execution_event("nonsense").empty());
  EXPECT_TRUE(execution_event(R"({"type":"end","cell":1,"exit_code":0})").empty());
}

TEST(ExecutionEvent, AnErrorIsOneText) {
  const auto event = execution_event(
      R"({"type":"error","name":"json.decoder.JSONDecodeError","message":"m","traceback":["a","b"]})");
  const json::value expected = {
      {"type", "error"}, {"name", "JSONDecodeError"}, {"value", "m"}, {"traceback", "a\nb"}};
  EXPECT_EQ(json::value(event), expected);
}

TEST_F(InterpreterTest, AnExecutionIsLinesInTheirOrder) {
  session->on_cell = [](sessions::FakeProcess& process, const wire::Cell& cell) {
    process.print("a\xe2\x82");
    process.print("\xac");
    process.print("e\xff", wire::Stream::kStderr);
    process.say(R"({"type":"result","mime":{"text/plain":"42"},"main":true})");
    process.end_cell(cell.number);
  };
  const auto lines = execute(R"({"code":"x","context_id":null,"language":null,"new":1})");
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(json::serialize(lines[0]), R"({"type":"number_of_executions","execution_count":1})");
  EXPECT_EQ(lines[1].at("text"), "a");
  EXPECT_EQ(lines[2].at("text"), "\xe2\x82\xac");
  EXPECT_EQ(lines[3].at("type"), "stderr");
  EXPECT_EQ(lines[3].at("text"), "e\xef\xbf\xbd");
  EXPECT_EQ(lines[3].at("timestamp").as_string().size(), 24u);
  EXPECT_EQ(lines[4].at("text"), "42");
  EXPECT_EQ(json::serialize(lines[5]), R"({"type":"end_of_execution"})");
  EXPECT_EQ(execute(R"({"code":"x"})")[0].at("execution_count"), 2);
  const auto& headers = calls.back().writer.headers;
  EXPECT_EQ(headers.get("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(calls.back().writer.body.find("\n\n"), std::string::npos);
}

TEST_F(InterpreterTest, TheCellIsRichAndHasItsVariables) {
  execute(R"({"code":"x","env_vars":{"A":"1"}})");
  const wire::Cell& cell = session->last().cells.at(0);
  EXPECT_TRUE(cell.rich);
  EXPECT_THAT(cell.env, ElementsAre("A=1"));
  EXPECT_EQ(session->last().job->workdir, "/home/user");
  EXPECT_THAT(session->last().job->env, ::testing::Contains("E2B_SANDBOX=true"));
}

TEST_F(InterpreterTest, FailuresAreErrorsOfTheExecution) {
  session->on_cell = [](sessions::FakeProcess& process, const wire::Cell& cell) {
    process.end_cell(cell.number, 3);
  };
  auto lines = execute(R"({"code":"false","language":"bash"})");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].at("name"), "ExitCode");
  EXPECT_THAT(std::string(lines[1].at("value").as_string()), HasSubstr("3"));
  session->on_cell = [](sessions::FakeProcess& process, const wire::Cell& cell) {
    process.say(R"({"type":"error","name":"ValueError","message":"no","traceback":[]})");
    process.end_cell(cell.number, 1);
  };
  lines = execute(R"({"code":"x"})");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].at("name"), "ValueError");
  session->on_cell = [](sessions::FakeProcess& process, const wire::Cell&) {
    process.exit(0, SIGSEGV);
  };
  lines = execute(R"({"code":"x"})");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].at("name"), "ContextDied");
}

TEST_F(InterpreterTest, InvalidRequestsAreRefusedInPlainText) {
  const auto refused = [this](const std::string& body) {
    const http::Response& answer = call(kExecute, body).result->value();
    EXPECT_TRUE(answer.headers.get("Content-Type").starts_with("text/plain")) << answer.body;
    return answer.status;
  };
  EXPECT_EQ(refused(R"({"code":"x","context_id":"python","language":"python"})"), 400);
  EXPECT_EQ(refused(R"({"code":"x","context_id":"cxnone"})"), 404);
  EXPECT_EQ(refused(R"({"code":"x","context_id":"../x"})"), 404);
  EXPECT_EQ(refused(R"({"code":"x","language":"cobol"})"), 400);
  EXPECT_EQ(refused(R"({"language":"python"})"), 400);
  EXPECT_EQ(refused(R"({"code":"x","env_vars":{"A=":"1"}})"), 400);
  EXPECT_EQ(refused("no"), 400);
  EXPECT_TRUE(session->all.empty());
}

TEST_F(InterpreterTest, ALargeExecutionIsParsedOnTheWorker) {
  routing::HeldWorker held(test.io, test.api->worker);
  Call& large = begin(kExecute, "no" + std::string(routing::kLargestInlineBody, ' '));
  test.io.restart();
  test.io.poll();
  EXPECT_FALSE(large.result.has_value());
  held.release();
  test.run_until([&] { return large.result.has_value(); });
  EXPECT_EQ(large.result->value().status, 400);
}

TEST_F(InterpreterTest, LanguagesWithoutAnInterpreterFailWithTheirPackage) {
  session->on_start = [](sessions::FakeProcess&) -> Result<> {
    return fail(Error(Errc::kNotFound, "execute /usr/bin/x: No such file or directory", ENOENT));
  };
  const std::pair<const char*, const char*> cases[] = {{"typescript", "node-typescript"},
                                                       {"ts", "node-typescript"},
                                                       {"r", "r-base-core"},
                                                       {"R", "r-base-core"},
                                                       {"java", "openjdk-17-jdk-headless"}};
  for (const auto& [language, package] : cases) {
    const auto lines = execute(R"({"code":"x","language":")" + std::string(language) + "\"}");
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[1].at("name"), "UnsupportedLanguage");
    EXPECT_THAT(std::string(lines[1].at("value").as_string()), HasSubstr(package));
  }
  EXPECT_EQ(call(kCreateContext, R"({"language":"r"})").result->value().status, 501);
  EXPECT_EQ(call(kCreateContext, R"({"language":"cobol"})").result->value().status, 400);
}

TEST_F(InterpreterTest, EveryLanguageHasItsOwnDefaultContext) {
  for (const char* language : {"typescript", "r", "java"}) {
    const auto lines = execute(R"({"code":"x","language":")" + std::string(language) + "\"}");
    EXPECT_EQ(lines.back().at("type"), "end_of_execution");
    EXPECT_EQ(session->last().spec.exec.argv.front(),
              sessions::language_facts(*read_language(language)).command.front());
    execute(R"({"code":"x","context_id":")" + std::string(language) + "\"}");
  }
  EXPECT_EQ(session->all.size(), 3u);
}

TEST_F(InterpreterTest, ContextsAreListedInTheirOrder) {
  const auto names = [this] {
    std::vector<std::string> all;
    for (const auto& one : listed()) {
      all.emplace_back(one.at("id").as_string());
      EXPECT_EQ(one.as_object().size(), 3u);
    }
    return all;
  };
  EXPECT_THAT(names(), ElementsAre("python", "javascript"));
  EXPECT_TRUE(session->all.empty());
  std::vector<std::string> expected = {"python", "javascript"};
  for (int i = 0; i < 5; ++i) expected.push_back(made(R"({"cwd":"/tmp"})"));
  execute(R"({"code":"x","language":"bash"})");
  execute(R"({"code":"x","context_id":"python"})");
  expected.emplace_back("bash");
  EXPECT_EQ(names(), expected);
  EXPECT_EQ(listed()[2].at("cwd"), "/tmp");
  EXPECT_EQ(listed()[0].at("cwd"), "/home/user");
}

TEST_F(InterpreterTest, AContextIsRestartedAndDeleted) {
  const std::string id = made("");
  const std::string use = R"({"code":"x","context_id":")" + id + "\"}";
  execute(use);
  EXPECT_EQ(execute(use)[0].at("execution_count"), 2);
  const auto before = session->last().info.number;
  EXPECT_EQ(restart(id).result->value().status, 200);
  EXPECT_NE(session->last().info.number, before);
  EXPECT_FALSE(session->all.contains(before));
  EXPECT_EQ(execute(use)[0].at("execution_count"), 1);
  EXPECT_EQ(remove(id).result->value().status, 200);
  EXPECT_EQ(remove(id).result->value().status, 404);
  EXPECT_EQ(restart(id).result->value().status, 404);
  EXPECT_EQ(call(kExecute, use).result->value().status, 404);
  // Those that are always there need not run for that.
  EXPECT_EQ(restart("javascript").result->value().status, 200);
  EXPECT_EQ(remove("javascript").result->value().status, 200);
}

TEST_F(InterpreterTest, ARestartEndsWhatRuns) {
  execute(R"({"code":"x"})");
  bool first = true;
  session->on_cell = [&first](sessions::FakeProcess& process, const wire::Cell& cell) {
    if (!std::exchange(first, false)) process.end_cell(cell.number);
  };
  session->last().on_signal = [this](int signal) {
    if (signal == SIGKILL) session->last().exit(0, SIGKILL);
  };
  const Call& running = begin(kExecute, R"({"code":"loop"})");
  test.run_until([&] { return session->last().cells.size() == 2; });
  restart("python");
  finish(running);
  EXPECT_EQ(lines_of(running)[1].at("name"), "ContextDied");
  EXPECT_EQ(execute(R"({"code":"x"})").size(), 2u);
}

TEST_F(InterpreterTest, AClientThatLeavesInterruptsTheCode) {
  execute(R"({"code":"x"})");
  session->on_cell = [](sessions::FakeProcess&, const wire::Cell&) {};
  Call& running = begin(kExecute, R"({"code":"loop"})");
  test.run_until([&] { return session->last().cells.size() == 2; });
  const std::uint64_t number = session->last().cells.back().number;
  session->last().on_signal = [this, number](int signal) {
    if (signal == SIGINT) session->last().end_cell(number, 130);
  };
  running.connection.leave();
  finish(running);
  EXPECT_FALSE(running.result->has_value());
  EXPECT_FALSE(running.writer.finished);
  EXPECT_THAT(session->last().signals, ::testing::Contains(SIGINT));
}

TEST_F(InterpreterTest, ASandboxThatEndsCutsTheConnection) {
  execute(R"({"code":"x"})");
  session->on_cell = [](sessions::FakeProcess&, const wire::Cell&) {};
  const Call& running = begin(kExecute, R"({"code":"loop"})");
  test.run_until([&] { return session->last().cells.size() == 2; });
  session->is_alive = false;
  session->last().events.emplace_back(node::Attachment::Gone{"the sandbox has ended"});
  session->wake();
  finish(running);
  EXPECT_FALSE(running.result->has_value());
  EXPECT_FALSE(running.writer.finished);
}

TEST_F(InterpreterTest, AnInterpreterThatDiesWithItsSandboxCutsItToo) {
  execute(R"({"code":"x"})");
  session->on_cell = [this](sessions::FakeProcess& process, const wire::Cell&) {
    test.sessions.known.begin()->second.state = "stopped";
    process.exit(0, SIGKILL);
  };
  const Call& running = call(kExecute, R"({"code":"loop"})");
  EXPECT_FALSE(running.result->has_value());
  EXPECT_FALSE(running.writer.finished);
}

TEST_F(InterpreterTest, KeepalivesAreSent) {
  execute(R"({"code":"x"})");
  session->on_cell = [](sessions::FakeProcess&, const wire::Cell&) {};
  const Call& running = begin(kExecute, R"({"code":"sleep"})");
  test.run_until([&] { return running.writer.body.find("keepalive") != std::string::npos; });
  EXPECT_TRUE(running.writer.body.ends_with("{\"type\":\"keepalive\"}\n"));
  session->last().end_cell(session->last().cells.back().number);
  finish(running);
  EXPECT_TRUE(running.writer.body.ends_with("{\"type\":\"end_of_execution\"}\n"));
}

TEST_F(InterpreterTest, NoRouteAnswersForASandboxThatIsNotThere) {
  test.sessions.known.clear();
  const std::string not_found = routing::sandbox_not_found(session->id().str()).body;
  for (const Endpoint& endpoint : {kExecute, kCreateContext, kListContexts, kHealth,
                                   Endpoint{http::Method::kPost, "/contexts/python/restart"},
                                   Endpoint{http::Method::kDelete, "/contexts/python"}}) {
    const Call& one = call(endpoint, endpoint == kExecute ? R"({"code":"x"})" : "");
    ASSERT_TRUE(one.result->has_value()) << endpoint.path;
    EXPECT_EQ((*one.result)->body, not_found) << endpoint.path;
  }
  EXPECT_TRUE(session->all.empty());
}

TEST_F(InterpreterTest, AdmissionByAccessTokenAndPortToken) {
  EXPECT_EQ(call(kExecute, R"({"code":"x"})", {{"X-Access-Token", "ea_0"}}).result->value().status,
            401);
  const http::Headers none{{"X-Access-Token", ""}};
  EXPECT_EQ(call(kListContexts, "", none).result->value().status, 200);
  const http::Response health = call(kHealth, "", none).result->value();
  EXPECT_EQ(health.body, "\"OK\"");
  test.sessions.known.begin()->second.token = "pt_secret";
  // As if it did not exist, also with the other token.
  const std::string not_found = routing::sandbox_not_found(session->id().str()).body;
  EXPECT_EQ(call(kHealth, "").result->value().body, not_found);
  EXPECT_EQ(call(kHealth, "", none).result->value().body, not_found);
  EXPECT_EQ(call(kExecute, R"({"code":"x"})").result->value().body, not_found);
  const http::Headers port_token_only{{"X-Access-Token", ""},
                                      {"E2B-Traffic-Access-Token", "pt_secret"}};
  EXPECT_EQ(call(kHealth, "", port_token_only).result->value().status, 200);
  EXPECT_EQ(call(kExecute, R"({"code":"x"})", port_token_only).result->value().body, not_found);
  test.sessions.known.begin()->second.state = "paused";
  EXPECT_EQ(call(kHealth, "").result->value().status, 502);
}

}  // namespace
}  // namespace glovebox::e2b
