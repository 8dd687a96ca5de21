#include "guest/agent/session/session_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "guest/agent/session/testing/driven_process.h"

namespace glovebox::agent {
namespace {

TEST(SessionProcess, StopsReadingWithoutAcknowledgements) {
  Driven driven;
  std::size_t printed = 0;
  for (int i = 0; i < 100; ++i) {
    printed += driven.print(driven.theirs.out, std::string(10'000, 'x'));
    driven.said();
  }
  EXPECT_EQ(driven.ends[Stream::kStdout], wire::kWindow);
  EXPECT_LT(printed, wire::kWindow + 200'000);  // and the pipe's own
  while (driven.ends[Stream::kStdout] < printed) {
    driven.acknowledge(Stream::kStdout);
    ASSERT_FALSE(driven.said().empty());
  }
  EXPECT_EQ(driven.process->describe().out.end, printed);
}

TEST(SessionProcess, LossyDropsTheOldestOutputWithoutASubscriber) {
  Driven driven(true, false);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(driven.print(driven.theirs.out, std::string(10'000, 'x')), 10'000u);
    driven.turn();
  }
  const wire::StreamState state = driven.process->describe().out;
  EXPECT_EQ(state.end, 1'000'000u);
  EXPECT_EQ(state.begin, 1'000'000 - wire::kKeptOutput);
  EXPECT_TRUE(driven.said().empty());
  driven.process->subscribe({7, Stream::kStdout, 0, 3});
  driven.ends[Stream::kStdout] = state.begin;
  driven.said();
  EXPECT_EQ(driven.ends[Stream::kStdout], 1'000'000u);
}

TEST(SessionProcess, ResultsAreCutWhereSomethingWasPrinted) {
  Driven driven;
  for (int i = 0; i < 10; ++i) {
    driven.print(driven.theirs.out, "12");
    driven.print(driven.theirs.err, "3");
    driven.print(driven.theirs.results, "{}\n");
    driven.turn();
  }
  std::uint64_t cells = 0;
  for (const auto& frame : driven.said()) {
    const auto* output = std::get_if<wire::Output>(&frame);
    ASSERT_NE(output, nullptr);
    if (output->stream != Stream::kResults) continue;
    ++cells;
    EXPECT_EQ(output->bytes, "{}\n");
    EXPECT_EQ(output->out_before, 2 * cells);
    EXPECT_EQ(output->err_before, cells);
  }
  EXPECT_EQ(cells, 10u);
}

TEST(SessionProcess, ResultsWaitForRoomForWhatWasPrintedBeforeThem) {
  Driven driven;
  while (driven.print(driven.theirs.out, std::string(4096, 'x')) > 0) driven.said();
  driven.print(driven.theirs.results, "{}\n");
  driven.said();
  EXPECT_EQ(driven.ends[Stream::kResults], 0u);
  driven.acknowledge(Stream::kStdout);
  driven.said();
  EXPECT_EQ(driven.ends[Stream::kResults], 3u);
}

TEST(SessionProcess, MarksAreBounded) {
  Driven driven;
  for (int i = 0; i < 5000; ++i) {
    driven.print(driven.theirs.out, "x");
    driven.print(driven.theirs.results, "y");
    driven.turn();
  }
  std::uint64_t last = 0;
  std::size_t pieces = 0;
  for (const auto& frame : driven.said()) {
    const auto* output = std::get_if<wire::Output>(&frame);
    if (output == nullptr || output->stream != Stream::kResults) continue;
    ++pieces;
    EXPECT_GE(output->out_before, output->offset + output->bytes.size());
    EXPECT_GE(output->out_before, last);
    last = output->out_before;
  }
  EXPECT_EQ(driven.ends[Stream::kResults], 5000u);
  EXPECT_EQ(pieces, 1024u) << "the last mark stands for all that came later";
}

TEST(SessionProcess, TheEndComesAfterAllThatWasPrinted) {
  Driven driven;
  std::size_t printed = 0;
  while (const std::size_t more = driven.print(driven.theirs.out, std::string(4096, 'x'))) {
    printed += more;
    driven.turn();
  }
  driven.process->ended({.code = 3});
  EXPECT_FALSE(driven.process->describe().ended);
  std::optional<wire::ProcessExited> exited;
  for (int i = 0; i < 10 && !exited; ++i) {
    for (const auto& frame : driven.said()) {
      if (const auto* end = std::get_if<wire::ProcessExited>(&frame)) exited = *end;
    }
    driven.acknowledge(Stream::kStdout);
  }
  ASSERT_TRUE(exited);
  EXPECT_EQ(exited->end.code, 3);
  EXPECT_EQ(exited->out.end, printed);
  EXPECT_TRUE(driven.process->describe().ended);
  // Its children still have the pipe. It has ended once all the same.
  driven.print(driven.theirs.out, "late");
  for (const auto& frame : driven.said()) {
    EXPECT_TRUE(std::holds_alternative<wire::Output>(frame));
  }
  EXPECT_EQ(driven.ends[Stream::kStdout], printed + 4);
}

TEST(SessionProcess, WhatIsPrintedLaterDoesNotDelayTheEnd) {
  Driven driven;
  driven.print(driven.theirs.out, "abc");
  driven.said();
  driven.process->ended({.code = 3});
  driven.print(driven.theirs.out, "late");
  std::optional<wire::ProcessExited> exited;
  std::string late;
  for (const auto& frame : driven.said()) {
    if (const auto* end = std::get_if<wire::ProcessExited>(&frame)) exited = *end;
    if (const auto* output = std::get_if<wire::Output>(&frame)) late += output->bytes;
  }
  ASSERT_TRUE(exited);
  EXPECT_EQ(exited->out.end, 3u);
  EXPECT_EQ(late, "late");
}

TEST(SessionProcess, AlsoAtTheEndResultsWaitForWhatWasPrintedBeforeThem) {
  Driven driven;
  while (driven.print(driven.theirs.out, std::string(4096, 'x')) > 0) driven.said();
  driven.print(driven.theirs.results, "{}\n");
  driven.process->ended({});
  driven.said();
  EXPECT_EQ(driven.ends[Stream::kResults], 0u);
  driven.acknowledge(Stream::kStdout);
  driven.said();
  EXPECT_EQ(driven.ends[Stream::kResults], 3u);
}

TEST(SessionProcess, EachStreamStopsWithoutAcknowledgements) {
  Driven driven;
  for (const auto& [stream, end] : {std::pair(Stream::kStderr, &driven.theirs.err),
                                    std::pair(Stream::kResults, &driven.theirs.results)}) {
    std::size_t printed = 0;
    while (const std::size_t more = driven.print(*end, std::string(4096, 'x'))) {
      printed += more;
      driven.said();
    }
    EXPECT_EQ(driven.ends[stream], wire::kWindow);
    while (driven.ends[stream] < printed) {
      driven.acknowledge(stream);
      ASSERT_FALSE(driven.said().empty());
    }
  }
  driven.process->acknowledge({7, Stream::kStdin, 1});  // no output
}

TEST(SessionProcess, AGuestThatReadsItsOwnPipesStillEnds) {
  Driven driven(false, false);
  while (driven.print(driven.theirs.out, std::string(4096, 'x')) > 0) driven.turn();
  driven.print(driven.theirs.results, "r");
  driven.process->ended({});
  EXPECT_FALSE(driven.process->describe().ended);  // there is no room yet
  const std::string path = "/proc/self/fd/" + std::to_string(driven.theirs.out.get());
  const std::string results = "/proc/self/fd/" + std::to_string(driven.theirs.results.get());
  for (const std::string& name : {path, results}) {
    const UniqueFd own(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    char buffer[4096];
    while (::read(own.get(), buffer, sizeof buffer) > 0) {
    }
  }
  driven.process->acknowledge({7, Stream::kStdout, wire::kKeptOutput});
  EXPECT_TRUE(driven.process->describe().ended);
}

TEST(SessionProcess, SaysNothingBeforeSomethingHappens) {
  Driven driven;
  EXPECT_TRUE(driven.said().empty());
  const wire::ProcessStatus status = driven.process->describe();
  EXPECT_EQ(status.process, 7u);
  EXPECT_EQ(status.kind, wire::ProcessKind::kContext);
  EXPECT_FALSE(status.warm || status.terminal || status.lossy || status.ended);
  EXPECT_FALSE(driven.process->has_ended());
}

TEST(SessionProcess, ASubscriberGetsFromItsOffset) {
  Driven driven;
  driven.print(driven.theirs.out, "0123456789");
  driven.said();
  driven.process->subscribe({7, Stream::kStdout, 4, 9});
  driven.ends[Stream::kStdout] = 4;
  const auto frames = driven.said();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(std::get<wire::Output>(frames[0]).bytes, "456789");
  EXPECT_EQ(std::get<wire::Output>(frames[0]).subscription, 9u);
  driven.process->subscribe({7, Stream::kStdout, 999, 10});  // from its end
  EXPECT_TRUE(driven.said().empty());
  driven.process->subscribe({7, Stream::kStdin, 0, 11});  // no output
  driven.print(driven.theirs.out, "a");
  EXPECT_EQ(driven.said().size(), 1u);
}

TEST(SessionProcess, WithoutASubscriberNothingIsSent) {
  Driven driven;
  EXPECT_TRUE(driven.process->is_subscribed());
  driven.process->unsubscribe(Stream::kStdout);
  EXPECT_TRUE(driven.process->is_subscribed()) << "to stderr";
  driven.print(driven.theirs.out, "a");
  EXPECT_TRUE(driven.said().empty());
  driven.print(driven.theirs.err, "b");
  EXPECT_EQ(driven.said().size(), 1u);
  driven.process->unsubscribe(Stream::kStdin);
  driven.process->unsubscribe_all();
  EXPECT_FALSE(driven.process->is_subscribed());
  driven.print(driven.theirs.err, "c");
  EXPECT_TRUE(driven.said().empty());
  EXPECT_EQ(driven.process->describe().err.end, 2u) << "it is kept";
}

TEST(SessionProcess, WhatIsKeptCanBeDropped) {
  Driven driven(true, false);
  EXPECT_EQ(driven.process->output_memory(), 0u);
  driven.print(driven.theirs.out, "abc");
  driven.turn();
  EXPECT_GT(driven.process->output_memory(), 0u);
  driven.process->drop_output();
  EXPECT_EQ(driven.process->output_memory(), 0u);
  EXPECT_EQ(driven.process->describe().out, (wire::StreamState{3, 3}));
  EXPECT_TRUE(driven.process->describe().lossy);
  driven.process->set_lossy(false);
  EXPECT_FALSE(driven.process->describe().lossy);
}

TEST(SessionProcess, TheEndIsSentOnceOrDiscarded) {
  for (const bool is_discarded : {false, true}) {
    Driven driven;
    EXPECT_FALSE(driven.process->describe().ended);
    driven.print(driven.theirs.out, "abc");
    driven.process->ended({.code = 3});
    EXPECT_TRUE(driven.process->describe().ended);
    if (is_discarded) driven.process->discard_unsent_exit();
    const auto frames = driven.said();
    ASSERT_FALSE(frames.empty());
    const auto is_end = [](const wire::SessionFrame& frame) {
      return std::holds_alternative<wire::ProcessExited>(frame);
    };
    EXPECT_EQ(std::count_if(frames.begin(), frames.end(), is_end), is_discarded ? 0 : 1);
    EXPECT_EQ(is_end(frames.back()), !is_discarded) << "behind all output";
    EXPECT_EQ(driven.ends[Stream::kStdout], 3u);
    EXPECT_TRUE(driven.said().empty());
    EXPECT_TRUE(driven.process->describe().ended);
  }
}

// A child that waits to be killed, in a group of its own if that is wanted.
pid_t waiting_child(bool own_group) {
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  if (own_group) ::setpgid(child, child);
  return child;
}

TEST(SessionProcess, ASignalReachesTheProcessThatRuns) {
  for (const bool own_group : {true, false}) {
    for (const bool group : {true, false}) {
      Driven driven;
      driven.process->signal(SIGTERM, group);  // there is none: not this test's own group, either
      const pid_t child = waiting_child(own_group);
      int ends[2];
      ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
      const UniqueFd writer(ends[1]);
      driven.process->take_process(child, UniqueFd(ends[0]), true);
      EXPECT_TRUE(driven.process->describe().warm);
      EXPECT_EQ(driven.process->describe().pid, static_cast<std::uint32_t>(child));
      driven.process->signal(SIGTERM, group);
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
  }
}

TEST(SessionProcess, ASignalDoesNotReachAnotherProcessWithThePidOfOneThatEnded) {
  Driven driven;
  const pid_t child = waiting_child(true);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd writer(ends[1]);
  driven.process->take_process(child, UniqueFd(ends[0]), false);
  EXPECT_FALSE(driven.process->describe().warm);
  driven.process->ended({});
  driven.process->signal(SIGTERM, true);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace
}  // namespace glovebox::agent
