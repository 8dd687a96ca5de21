// Tests of runs, through a whole node.
#include <unistd.h>

#include "node/runs/result_lines.h"
#include "node/testing/node_fixture.h"

namespace glovebox::node {
namespace {

TEST_F(NodeTest, AWarmRunHasItsOutputItsResultsAndItsOutcome) {
  begin({status_of("python", RuntimeKind::kPython, 2, 4)});
  fill("python", 2);
  EXPECT_EQ(launcher.created_warm, 2);
  launcher.script = {
      .out = "hello\n", .err = "oops\n", .results = "{\"type\":\"result\"}\n", .code = 3};
  const auto call = finish(python("print('hello')"));
  ASSERT_TRUE(*call->result) << call->result->error().message();
  const RunReport& report = **call->result;
  EXPECT_EQ(call->sink.out, "hello\n");
  EXPECT_EQ(call->sink.err, "oops\n");
  EXPECT_EQ(call->sink.results, std::vector<std::string>{"{\"type\":\"result\"}"});
  EXPECT_EQ(report.results, call->sink.results);
  EXPECT_EQ(report.outcome.exit_code, 3);
  EXPECT_EQ(report.outcome.output_bytes, 11u);
  EXPECT_EQ(report.outcome.usage.cpu, std::chrono::microseconds(700));
  EXPECT_TRUE(report.warm);
  EXPECT_EQ(launcher.taken, std::vector<std::string>{report.sandbox});
  EXPECT_EQ(launcher.jobs, std::vector<std::string>{"print('hello')"});
  EXPECT_FALSE(launcher.alive.contains(report.sandbox));
  EXPECT_EQ(pool("python").hits, 1u);
  fill("python", 2);  // behind the request
}

TEST_F(NodeTest, ARuntimeThatBrokeWhileWaitingCostsTimeAndNoError) {
  begin({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  launcher.script.dies_at_start = true;
  const auto call = start(python());
  until([&] { return launcher.jobs.size() == 1; });
  launcher.script.dies_at_start = false;
  until([&] { return call->done(); });
  ASSERT_TRUE(*call->result) << call->result->error().message();
  EXPECT_FALSE((*call->result)->warm);
  EXPECT_FALSE(launcher.reused);
}

TEST_F(NodeTest, FilesGoInAndOut) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  RunJob job = shell();
  const std::string large(500'000, 'z');
  job.files.push_back({GuestPath::parse("/home/user/a").value(), large});
  job.files.push_back({GuestPath::parse("/home/user/empty").value(), ""});
  job.return_files = {"/home/user/*"};
  job.return_bytes_limit = 10;
  launcher.script.files = {{"/home/user/r", "12345"}, {"/home/user/s", "678901"}};
  const auto call = finish(std::move(job));
  ASSERT_TRUE(*call->result) << call->result->error().message();
  EXPECT_EQ(launcher.files_put["/home/user/a"], large);
  EXPECT_TRUE(launcher.files_put.contains("/home/user/empty"));
  const RunReport& report = **call->result;
  ASSERT_EQ(report.files.size(), 1u);
  EXPECT_EQ(report.files[0].content, "12345");
  EXPECT_TRUE(report.files_truncated);
  EXPECT_EQ(report.files_error, "");
}

TEST_F(NodeTest, StdinLargerThanAPipeGoesThrough) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script.echo_stdin = true;
  RunJob job = shell();
  for (int i = 0; i < 60'000; ++i) job.stdin_bytes += std::to_string(i) + "\n";
  const std::string sent = job.stdin_bytes;
  const auto call = finish(std::move(job));
  ASSERT_TRUE(*call->result);
  EXPECT_EQ(call->sink.out, sent);
}

TEST_F(NodeTest, OutputBeyondTheLimitIsDroppedAndSaid) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script.out = std::string(1000, 'a');
  launcher.script.err = std::string(1000, 'b');
  RunJob job = shell();
  job.output_limit = 1500;
  const auto call = finish(std::move(job));
  EXPECT_EQ(call->sink.out.size() + call->sink.err.size(), 1500u);
  EXPECT_TRUE((*call->result)->outcome.truncated);
  EXPECT_EQ((*call->result)->outcome.output_bytes, 2000u);
}

// What was taken of a flood until its reader closed the pipe, or `time` was over.
class Flood {
 public:
  Flood(boost::asio::io_context& io, int fd, char what) : io_(io), fd_(fd), bytes_(65536, what) {}
  std::size_t go_on(std::size_t most, milliseconds time) {
    std::size_t taken = 0;
    const auto deadline = Clock::now() + time;
    while (taken < most && Clock::now() < deadline) {
      const ssize_t put = ::write(fd_, bytes_.data(), bytes_.size());
      if (put < 0 && errno == EPIPE) {
        closed = true;
        break;
      }
      taken += put > 0 ? static_cast<std::size_t>(put) : 0;
      io_.restart();
      io_.run_one_for(milliseconds(1));
    }
    return taken;
  }
  bool closed = false;

 private:
  boost::asio::io_context& io_;
  int fd_;
  std::string bytes_;
};

TEST_F(NodeTest, AFloodOfEmptyResultLinesIsClosed) {
  begin({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  launcher.script = {.out = "begun\n", .hangs = true};
  const auto call = start(python());
  until([&] { return !call->sink.out.empty(); });
  const std::string id = launcher.taken.at(0);
  Flood flood(io, launcher.guest_end(id, 3), '\n');
  EXPECT_LE(flood.go_on(100u << 20, seconds(20)), ResultLines::kMaxSeen + (1u << 20));
  EXPECT_TRUE(flood.closed);
  EXPECT_FALSE(call->done());  // its reader is gone; the run goes on
  launcher.end(id, EndReason::kWallTimeout);
  until([&] { return call->done(); });
  ASSERT_TRUE(*call->result);
  EXPECT_TRUE((*call->result)->results_truncated);
}

TEST_F(NodeTest, AfterAResultMuchTooLongTheLastWordIsStillHeard) {
  begin({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  launcher.script = {.out = "begun\n", .hangs = true};
  const auto call = start(python());
  until([&] { return !call->sink.out.empty(); });
  const std::string id = launcher.taken.at(0);
  const int results = launcher.guest_end(id, 3);
  Flood flood(io, results, 'x');
  EXPECT_GE(flood.go_on(66u << 20, seconds(20)), 66u << 20);
  EXPECT_LT(flood.go_on(1u << 30, milliseconds(300)), 4u << 20);  // slowly, by now
  EXPECT_FALSE(flood.closed);
  const std::string_view last = "\n{\"type\":\"result\"}\n";
  until([&] { return ::write(results, last.data(), last.size()) > 0; });
  until([&] { return !call->sink.results.empty(); });
  launcher.end(id, EndReason::kWallTimeout);
  until([&] { return call->done(); });
  ASSERT_TRUE(*call->result);
  EXPECT_TRUE((*call->result)->results_truncated);
}

TEST_F(NodeTest, AFloodOfOutputIsReadSlowlyAndTheRunGoesOn) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script = {.out = "begun\n", .hangs = true};
  RunJob job = shell();
  job.output_limit = 1000;
  const auto call = start(std::move(job));
  until([&] { return !call->sink.out.empty(); });
  const std::string id = *launcher.alive.begin();
  Flood flood(io, launcher.guest_end(id, 1), 'x');
  EXPECT_GE(flood.go_on(66u << 20, seconds(20)), 66u << 20);
  // A read in 20 ms; without pauses it would be hundreds of megabytes.
  const std::size_t later = flood.go_on(1u << 30, milliseconds(500));
  EXPECT_GT(later, 0u);
  EXPECT_LT(later, 4u << 20);
  EXPECT_FALSE(flood.closed);
  EXPECT_FALSE(call->done());
  launcher.end(id, EndReason::kWallTimeout);
  until([&] { return call->done(); });
  ASSERT_TRUE(*call->result);
  EXPECT_TRUE((*call->result)->outcome.truncated);
  EXPECT_EQ(call->sink.out.size(), 1000u);
}

TEST_F(NodeTest, AnErrorSaysWhetherAnythingMayHaveRun) {
  options.max_sandboxes = 1;
  options.max_queue = 0;
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script = {.out = "begun\n", .hangs = true};
  const auto runs = start(shell());
  until([&] { return !runs->sink.out.empty(); });
  const auto refused = finish(shell());
  EXPECT_EQ(refused->result->error().code(), Errc::kResourceExhausted);
  EXPECT_FALSE(refused->sink.may_have_run());
  launcher.die();
  until([&] { return runs->done(); });
  EXPECT_FALSE(*runs->result);
  EXPECT_TRUE(runs->sink.may_have_run());
}

TEST_F(NodeTest, WhatCouldNotBeStartedHasNotRun) {
  begin({status_of("python", RuntimeKind::kPython, 0, 0)});
  launcher.script.start_fails = true;
  const auto call = start(python());
  for (std::size_t attempts = 1; attempts <= 2; ++attempts) {
    until([&] { return launcher.jobs.size() == attempts; });
    settle();
    now += milliseconds(1001);  // it waits for what the launcher may have to say
  }
  until([&] { return call->done(); });
  ASSERT_FALSE(*call->result);
  EXPECT_FALSE(call->sink.may_have_run());
}

TEST_F(NodeTest, ATimeoutIsAnOutcome) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script = {.out = "begun\n", .hangs = true};
  const auto call = start(shell());
  until([&] { return !call->sink.out.empty(); });
  launcher.end(*launcher.alive.begin(), EndReason::kWallTimeout);
  until([&] { return call->done(); });
  const Outcome& outcome = (*call->result)->outcome;
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.exit_code, kExitTimeout);
  EXPECT_EQ(call->sink.out, "begun\n");
}

TEST_F(NodeTest, ALauncherThatForgetsTheTimeIsNotWaitedForForever) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script = {.out = "begun\n", .hangs = true};
  const auto call = start(shell());
  until([&] { return !call->sink.out.empty(); });
  now += seconds(36);
  until([&] { return call->done(); });
  EXPECT_TRUE((*call->result)->outcome.timed_out);
}

TEST_F(NodeTest, CancelEndsTheRunAndItsSandbox) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script = {.out = "begun\n", .hangs = true};
  const auto call = start(shell());
  until([&] { return !call->sink.out.empty(); });
  call->cancel->cancel();
  until([&] { return call->done(); });
  EXPECT_TRUE((*call->result)->cancelled);
  EXPECT_TRUE(launcher.alive.empty());
}

TEST_F(NodeTest, AReaderThatIsGoneEndsTheRun) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script = {.out = "begun\n", .hangs = true};
  auto call = std::make_shared<Call>();
  call->sink.takes = false;
  boost::asio::co_spawn(
      io, node->run(shell(), call->sink, call->cancel),
      [call](std::exception_ptr, Result<RunReport> result) { call->result = std::move(result); });
  until([&] { return call->done(); });
  EXPECT_TRUE((*call->result)->cancelled);
  EXPECT_TRUE(launcher.alive.empty());
}

TEST_F(NodeTest, AWeakerGradeThanAskedForStartsNothing) {
  begin({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  RunJob job = python();
  job.min_grade = Grade::kJail;  // the fake one's walls are none
  const auto call = finish(std::move(job));
  EXPECT_EQ(call->result->error().code(), Errc::kPolicy);
  EXPECT_TRUE(launcher.jobs.empty());
  EXPECT_TRUE(launcher.taken.empty());
}

TEST_F(NodeTest, WhenTheLauncherDiesRunsSaySoAndTheNextOneServes) {
  begin({status_of("python", RuntimeKind::kPython, 2, 4)});
  fill("python", 2);
  launcher.script = {.out = "begun\n", .hangs = true};
  const auto call = start(python());
  until([&] { return !call->sink.out.empty(); });
  launcher.die();
  until([&] { return call->done(); });
  ASSERT_FALSE(*call->result);
  EXPECT_EQ(call->result->error().code(), Errc::kUnavailable);
  EXPECT_THAT(call->result->error().message(), HasSubstr("launcher"));
  EXPECT_FALSE(node->figures().launcher_up);
  EXPECT_EQ(node->figures().sandboxes_alive, 0u);

  launcher.script = {};
  const auto waits = start(python());  // for the next launcher
  settle();
  EXPECT_FALSE(waits->done());
  attach();
  until([&] { return waits->done(); });
  EXPECT_TRUE(*waits->result) << waits->result->error().message();
  fill("python", pool("python").target);

  launcher.die();
  until([&] { return !node->figures().launcher_up; });
  const auto in_vain = start(python());
  settle();
  now += seconds(4);
  until([&] { return in_vain->done(); });
  EXPECT_EQ(in_vain->result->error().code(), Errc::kUnavailable);
  EXPECT_THAT(in_vain->result->error().message(), HasSubstr("launcher"));
}

TEST_F(NodeTest, ALauncherThatCannotSpellIsLetGoOf) {
  begin({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  launcher.say_garbage();
  until([&] { return !node->figures().launcher_up; });
  EXPECT_EQ(node->figures().launcher_losses, 1u);
  EXPECT_EQ(node->figures().sandboxes_alive, 0u);
}

TEST_F(NodeTest, AnAgentThatCannotSpellIsAnErrorAndNoHang) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script.garbage = true;
  EXPECT_FALSE(*finish(shell())->result);
  launcher.script = {.bad_fds = true};
  const auto call = finish(shell());
  ASSERT_FALSE(*call->result);
  EXPECT_EQ(call->result->error().code(), Errc::kProtocol);
  until([&] { return launcher.alive.empty(); });
}

TEST_F(NodeTest, ADrainWaitsRefusesAndLeavesNothing) {
  begin({status_of("python", RuntimeKind::kPython, 2, 4)});
  fill("python", 2);
  launcher.script = {.out = "begun\n", .hangs = true};
  const auto call = start(python());
  until([&] { return !call->sink.out.empty(); });
  bool drained = false;
  boost::asio::co_spawn(io, node->drain(Clock::now() + milliseconds(1000)),
                        [&](std::exception_ptr) { drained = true; });
  settle();
  EXPECT_FALSE(drained);
  EXPECT_FALSE(*finish(python())->result);
  until([&] { return drained; });
  EXPECT_TRUE(call->done());
  until([&] { return launcher.alive.empty(); });
}

TEST_F(NodeTest, TheRuntimesLastWordEndsTheRunBeforeItsProcessIsGone) {
  begin({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  launcher.script = {.out = "hello\n",
                     .results = "{\"type\":\"result\"}\n{\"type\":\"exit\",\"code\":7}\n",
                     .lingers = true};
  const auto call = finish(python());
  ASSERT_TRUE(*call->result) << call->result->error().message();
  EXPECT_EQ((*call->result)->outcome.exit_code, 7);
  EXPECT_EQ(call->sink.out, "hello\n");
  EXPECT_EQ((*call->result)->results, std::vector<std::string>{"{\"type\":\"result\"}"});
  EXPECT_EQ(call->sink.results.size(), 1u);
}

}  // namespace
}  // namespace glovebox::node
