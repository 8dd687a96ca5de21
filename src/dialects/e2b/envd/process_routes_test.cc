// Calls for running processes: list, input, signals, terminal sizes.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

#include "dialects/e2b/testing/process_fixture.h"
#include "routing/large_requests.h"
#include "routing/testing/held_worker.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;

class ProcessCallsTest : public ProcessTest {
 protected:
  std::uint32_t start(std::string message) {
    const wire::ProcessNumber before = session->all.empty() ? 0 : session->all.rbegin()->first;
    begin(kStart, std::move(message));
    test.run_until([&] { return !session->all.empty() && session->all.rbegin()->first > before; });
    settle();
    return last()->info.pid;
  }
  std::string input(std::uint32_t pid, const std::string& kind, const std::string& bytes) {
    return code_of(kSendInput, select(pid, R"(,"input":{")" + kind + "\":\"" + bytes + "\"}"));
  }
};

// Arrives in pieces of one size.
class FakeBody final : public http::BodyStream {
 public:
  FakeBody(std::string bytes, std::size_t piece) : bytes_(std::move(bytes)), piece_(piece) {}
  asio::awaitable<Result<std::size_t>> read_some(char* into, std::size_t size) override {
    const std::size_t got = bytes_.copy(into, std::min(size, piece_), next_);
    next_ += got;
    co_return got;
  }
  void cancel() override {}

 private:
  const std::string bytes_;
  const std::size_t piece_;
  std::size_t next_ = 0;
};

TEST_F(ProcessCallsTest, OnlyProgramsThatRunAreListed) {
  start(R"({"process":{"cmd":"a","args":["-x"],"envs":{"K":"v"},"cwd":"/tmp"},"tag":"t"})");
  start(kSleep);
  last()->exit(0);
  start(kSleep);
  last()->info.kind = wire::ProcessKind::kWarmContext;
  const auto [status, body] = ask(kListProcesses, "{}");
  EXPECT_EQ(status, 200);
  const json::value expected = {
      {{"pid", 101},
       {"config", {{"cmd", "a"}, {"args", {"-x"}}, {"envs", {{"K", "v"}}}, {"cwd", "/tmp"}}},
       {"tag", "t"}}};
  EXPECT_EQ(body.at("processes"), expected) << json::serialize(body);
}

TEST_F(ProcessCallsTest, NoneIsAnsweredWithoutTheToken) {
  start(kSleep);
  const auto signals = last()->signals;
  for (const Endpoint& endpoint : {kListProcesses, kSendInput, kStreamInput, kCloseStdin,
                                   kSendSignal, kUpdate, kStart, kConnect}) {
    for (const char* token : {"ea_0", ""}) {
      const Call& one =
          call(endpoint, select(101, R"(,"signal":"SIGNAL_SIGKILL")"), {{"X-Access-Token", token}});
      ASSERT_TRUE(one.result->has_value()) << endpoint.path;
      EXPECT_EQ((*one.result)->status, 401) << endpoint.path;
    }
  }
  EXPECT_EQ(session->all.size(), 1u);
  EXPECT_EQ(last()->signals, signals);
}

TEST_F(ProcessCallsTest, InputArrivesInItsOrderAndEnds) {
  const std::uint32_t pid = start(kSleep);
  EXPECT_EQ(input(pid, "stdin", "aGVs"), "ok");
  EXPECT_EQ(input(pid, "stdin", "bG8="), "ok");
  EXPECT_EQ(input(pid, "stdin", ""), "ok");
  EXPECT_EQ(last()->input, "hello");
  EXPECT_EQ(code_of(kCloseStdin, select(pid)), "ok");
  EXPECT_TRUE(last()->input_closed);
  EXPECT_EQ(code_of(kCloseStdin, select(pid)), "ok");
  EXPECT_EQ(input(pid, "stdin", "eA=="), "internal");
}

TEST_F(ProcessCallsTest, MixedUpInputIsRefused) {
  const std::uint32_t pid = start(kSleep);
  EXPECT_EQ(input(pid, "pty", "eA=="), "internal");
  const std::uint32_t terminal = start(R"({"process":{"cmd":"bash"},"pty":{}})");
  EXPECT_EQ(input(terminal, "stdin", "eA=="), "internal");
  EXPECT_EQ(input(terminal, "pty", "eA=="), "ok");
  EXPECT_EQ(last()->input, "x");
  EXPECT_EQ(code_of(kCloseStdin, select(terminal)), "unknown");
  EXPECT_EQ(input(terminal, "pty", "!"), "invalid_argument");
}

TEST_F(ProcessCallsTest, SignalsAndSizes) {
  const std::uint32_t pid = start(kSleep);
  const auto process = last();
  EXPECT_EQ(code_of(kSendSignal, select(pid, R"(,"signal":"SIGNAL_SIGTERM")")), "ok");
  EXPECT_EQ(code_of(kSendSignal, select(pid, R"(,"signal":"SIGNAL_SIGHUP")")), "unimplemented");
  EXPECT_EQ(code_of(kSendSignal, select(pid)), "unimplemented");
  const std::string size = R"(,"pty":{"size":{"cols":100,"rows":30}})";
  EXPECT_EQ(code_of(kUpdate, select(pid, size)), "internal");
  EXPECT_EQ(code_of(kUpdate, select(pid)), "ok");
  EXPECT_EQ(code_of(kSendSignal, select(pid, R"(,"signal":"SIGNAL_SIGKILL")")), "ok");
  EXPECT_THAT(process->signals, ElementsAre(SIGTERM, SIGKILL));
  const std::uint32_t terminal = start(R"({"process":{"cmd":"bash"},"pty":{}})");
  EXPECT_EQ(code_of(kUpdate, select(terminal, size)), "ok");
}

TEST_F(ProcessCallsTest, AProcessThatDoesNotRunIsNotFound) {
  const std::uint32_t pid = start(kSleep);
  last()->exit(0);
  settle();
  const std::string input_of = R"(,"input":{"stdin":""})";
  const std::string signal = R"(,"signal":"SIGNAL_SIGKILL")";
  for (const std::uint32_t gone : {pid, 9999u}) {
    EXPECT_EQ(code_of(kSendInput, select(gone, input_of)), "not_found");
    EXPECT_EQ(code_of(kCloseStdin, select(gone)), "not_found");
    EXPECT_EQ(code_of(kSendSignal, select(gone, signal)), "not_found");
    EXPECT_EQ(code_of(kUpdate, select(gone)), "not_found");
  }
  const auto [status, body] = ask(kSendSignal, select(7, signal));
  EXPECT_EQ(status, 404);
  EXPECT_EQ(body.at("message"), "process with pid 7 not found");
}

TEST_F(ProcessCallsTest, ATagFindsItsProcess) {
  start(R"({"process":{"cmd":"a"},"tag":"one"})");
  const auto tagged = last();
  start(kSleep);
  EXPECT_EQ(code_of(kSendSignal, R"({"process":{"tag":"one"},"signal":15})"), "ok");
  EXPECT_THAT(tagged->signals, ElementsAre(SIGTERM));
  EXPECT_EQ(code_of(kSendSignal, R"({"process":{"tag":"two"},"signal":15})"), "not_found");
}

TEST_F(ProcessCallsTest, AStreamOfInputIsCutAnywhere) {
  const std::uint32_t pid = start(kSleep);
  const auto send = [&](const std::string& bytes, std::size_t piece) {
    FakeBody body(bytes, piece);
    Call& one = begin(kStreamInput, "");
    one.request.body_stream = &body;
    finish(one);
    return one.events();
  };
  const auto message = [](const std::string& text) { return envelope(text, 0); };
  const std::string begun = message(R"({"start":)" + select(pid) + "}");
  const std::string all = begun + message(R"({"data":{"input":{"stdin":"aGVs"}}})") +
                          message(R"({"keepalive":{}})") +
                          message(R"({"data":{"input":{"stdin":"bG8="}}})");
  for (const std::size_t piece : {1u, 7u, 4096u}) {
    last()->input.clear();
    EXPECT_THAT(send(all, piece), ElementsAre("{}", "fin"));
    EXPECT_EQ(last()->input, "hello");
  }
  EXPECT_THAT(send(message(R"({"start":)" + select(7) + "}"), 50), ElementsAre("error:not_found"));
  EXPECT_THAT(send(message(R"({"data":{"input":{"stdin":""}}})"), 50),
              ElementsAre("error:invalid_argument"));
  EXPECT_THAT(send(begun + begun, 50), ElementsAre("error:invalid_argument"));
  std::string many = begun;
  for (int i = 0; i < 500; ++i) many += message(R"({"keepalive":{}})");
  EXPECT_THAT(send(many, 16 * 1024), ElementsAre("{}", "fin"));
  EXPECT_THAT(send(begun.substr(0, 9), 50), ElementsAre("error:invalid_argument"));
  EXPECT_THAT(send("\x01", 50), ElementsAre("error:invalid_argument"));
  EXPECT_THAT(send(std::string("\0\xff\xff\xff\xff", 5), 50),
              ElementsAre("error:invalid_argument"));
}

TEST_F(ProcessCallsTest, LargeMessagesAreParsedOnTheWorker) {
  const std::uint32_t pid = start(kSleep);
  const std::string spaces(routing::kLargestInlineBody, ' ');
  const std::string input = R"(,"input":{"stdin":"aGVs"})";
  routing::HeldWorker held(test.io, test.api->worker);
  EXPECT_EQ(code_of(kSendInput, select(pid, input)), "ok") << "the control: a short message";
  const Call& sent = begin(kSendInput, select(pid, input + spaces));
  const Call& started = begin(kStart, kSleep + spaces);
  const std::string start_message = envelope(R"({"start":)" + select(pid) + "}", 0);
  const std::string data_message = envelope(R"({"data":{"input":{"stdin":"bG8="}}})" + spaces, 0);
  FakeBody body(start_message + data_message, 16 * 1024);
  Call& streamed = begin(kStreamInput, "");
  streamed.request.body_stream = &body;
  settle();
  EXPECT_FALSE(sent.is_done());
  EXPECT_EQ(started.events().size(), 0u);
  EXPECT_FALSE(streamed.is_done());
  held.release();
  finish(sent);
  wait_for(started, 1);
  finish(streamed);
  EXPECT_THAT(started.events(), ElementsAre("start"));
  EXPECT_THAT(streamed.events(), ElementsAre("{}", "fin"));
  EXPECT_EQ(session->all.begin()->second->input, "helhello");
}

}  // namespace
}  // namespace glovebox::e2b
