// A process of a session, without the process: the test has the other ends of its pipes.
#include "guest/agent/session/session_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

namespace glovebox::agent {
namespace {

using wire::Stream;

class Driven {
 public:
  explicit Driven(bool lossy = false, bool subscribed = true, bool terminal = false)
      : epoll_(::epoll_create1(EPOLL_CLOEXEC)), null_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {
    ::signal(SIGPIPE, SIG_IGN);  // as the agent does
    wire::StartProcess start;
    start.process = 7;
    start.kind = wire::ProcessKind::kContext;
    start.exec.argv = {"x"};
    start.has_stdin = true;
    start.lossy = lossy;
    start.subscribed = subscribed;
    if (terminal) start.exec.terminal = TerminalSize{};
    process = std::make_unique<SessionProcess>(start, epoll_.get(), 0);
    SessionStreams streams;
    EXPECT_TRUE(make_streams(start, SessionUser{}, false, null_.get(), streams));
    theirs = std::move(streams.theirs);
    for (const UniqueFd* fd :
         {&theirs.in, &theirs.out, &theirs.err, &theirs.results, &theirs.requests}) {
      if (*fd) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    }
    process->take_streams(std::move(streams.ours));
  }

  // As much as the pipe takes.
  std::size_t print(const UniqueFd& fd, std::string_view text) {
    std::size_t written = 0;
    while (written < text.size()) {
      const ssize_t got = ::write(fd.get(), text.data() + written, text.size() - written);
      if (got <= 0) break;
      written += static_cast<std::size_t>(got);
    }
    return written;
  }

  // Handles what there is to handle, as the agent's loop does.
  void turn() {
    epoll_event events[16];
    for (int rounds = 0; rounds < 1000; ++rounds) {
      const int count = ::epoll_wait(epoll_.get(), events, 16, 0);
      if (count <= 0) return;
      for (int i = 0; i < count; ++i) process->on_event(static_cast<StreamFd>(events[i].data.u64));
    }
    FAIL() << "it spins";
  }

  std::vector<wire::SessionFrame> said() {
    turn();
    std::vector<wire::SessionFrame> frames;
    while (auto frame = process->next_frame()) {
      if (const auto* output = std::get_if<wire::Output>(&*frame)) {
        EXPECT_EQ(output->offset, ends[output->stream]) << "lost or repeated";
        ends[output->stream] = output->offset + output->bytes.size();
      }
      frames.push_back(std::move(*frame));
    }
    return frames;
  }
  void acknowledge(Stream stream) { process->acknowledge({7, stream, ends[stream]}); }

  StreamEnds theirs;
  std::unique_ptr<SessionProcess> process;
  std::map<Stream, std::uint64_t> ends;

 private:
  UniqueFd epoll_;
  UniqueFd null_;
};

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
  const auto frames = driven.said();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(std::get<wire::ProcessExited>(frames[0]).out.end, 3u);
  EXPECT_EQ(std::get<wire::Output>(frames[1]).bytes, "late");
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

TEST(SessionProcess, InputWaitsForItsPipesUpToTwoWindows) {
  wire::StartProcess start;
  start.has_stdin = true;
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  SessionProcess process(start, epoll.get(), 0);
  const std::string window(wire::kInputWindow, 'i');
  process.write_input({0, Stream::kStdin, 0, window});
  process.write_input({0, Stream::kStdin, window.size(), window});
  EXPECT_EQ(process.describe().input_taken, 2 * wire::kInputWindow);
  process.write_input({0, Stream::kStdin, 2 * window.size(), "x"});
  EXPECT_EQ(process.describe().input_taken, 2 * wire::kInputWindow);
  // A program has no requests, and without stdin there is no input.
  process.write_input({0, Stream::kRequests, 0, "r"});
  EXPECT_EQ(process.describe().requests_taken, 0u);
  start.has_stdin = false;
  SessionProcess silent(start, epoll.get(), 0);
  silent.write_input({0, Stream::kStdin, 0, "x"});
  EXPECT_EQ(silent.describe().input_taken, 0u);
  const auto frame = silent.next_frame();
  ASSERT_TRUE(frame);
  EXPECT_EQ(std::get<wire::InputTaken>(*frame), (wire::InputTaken{0, Stream::kStdin, 0, true}));
}

// The other end of a terminal is that of the program.
TEST(SessionProcess, ATerminalsEndOfInputIsTyped) {
  Driven driven(false, true, true);
  EXPECT_TRUE(driven.process->describe().terminal);
  driven.process->write_input({7, Stream::kStdin, 0, "abc\n"});
  driven.process->close_input(Stream::kStdin);
  driven.turn();
  char buffer[64];
  ASSERT_EQ(::read(driven.theirs.in.get(), buffer, sizeof buffer), 4);
  EXPECT_EQ(std::string(buffer, 4), "abc\n");
  EXPECT_EQ(::read(driven.theirs.in.get(), buffer, sizeof buffer), 0) << "once";
  EXPECT_EQ(::read(driven.theirs.in.get(), buffer, sizeof buffer), -1) << "and not twice";
  bool echoed = false;
  for (const auto& frame : driven.said()) {
    const auto* output = std::get_if<wire::Output>(&frame);
    if (output != nullptr) echoed = output->bytes.find("abc") != std::string::npos || echoed;
    const auto* taken = std::get_if<wire::InputTaken>(&frame);
    EXPECT_FALSE(taken != nullptr && taken->closed) << "it cannot be half-closed";
  }
  EXPECT_TRUE(echoed);
  driven.process->resize({.rows = 7, .columns = 77});
}

TEST(SessionProcess, ATerminalThatNoProgramHasTakesNoInput) {
  Driven driven(false, true, true);
  driven.print(driven.theirs.out, "bye");
  driven.theirs = {};
  bool closed = false;
  for (const auto& frame : driven.said()) {
    const auto* taken = std::get_if<wire::InputTaken>(&frame);
    closed = (taken != nullptr && taken->closed) || closed;
  }
  EXPECT_TRUE(closed);
  EXPECT_EQ(driven.process->describe().out.end, 3u);
  driven.process->ended({.code = 1});
  EXPECT_TRUE(driven.process->describe().ended);
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

TEST(SessionProcess, InputIsTakenOnceAndBounded) {
  Driven driven;
  driven.process->write_input({7, Stream::kStdin, 0, "abc"});
  driven.process->write_input({7, Stream::kStdin, 0, "abcdef"});
  driven.process->write_input({7, Stream::kStdin, 99, "gap"});
  char buffer[64];
  EXPECT_EQ(::read(driven.theirs.in.get(), buffer, sizeof buffer), 6);
  EXPECT_EQ(std::string(buffer, 6), "abcdef");
  std::uint64_t sent = 6;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t had = driven.process->describe().input_taken;
    driven.process->write_input({7, Stream::kStdin, had, std::string(wire::kInputWindow, 'x')});
    sent = driven.process->describe().input_taken;
  }
  EXPECT_LE(sent, 6 + 65536 + 2 * wire::kInputWindow);
  driven.theirs.in.reset();
  bool closed = false;
  for (const auto& frame : driven.said()) {
    const auto* taken = std::get_if<wire::InputTaken>(&frame);
    if (taken != nullptr && taken->stream == Stream::kStdin) closed = taken->closed;
  }
  EXPECT_TRUE(closed);
}

std::string read_now(const UniqueFd& fd) {
  std::string text(1 << 20, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}
bool is_at_end(const UniqueFd& fd) {
  char byte = 0;
  return ::read(fd.get(), &byte, 1) == 0;
}
// What was said of the input last; nothing: nothing was.
std::optional<wire::InputTaken> input_in(const std::vector<wire::SessionFrame>& frames) {
  std::optional<wire::InputTaken> last;
  for (const auto& frame : frames) {
    if (const auto* taken = std::get_if<wire::InputTaken>(&frame)) last = *taken;
  }
  return last;
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

TEST(SessionProcess, InputEndsBehindItsLastByte) {
  Driven driven;
  driven.process->write_input({7, Stream::kStdin, 0, "abc"});
  EXPECT_EQ(input_in(driven.said()), (wire::InputTaken{7, Stream::kStdin, 3, false}));
  driven.process->on_event(StreamFd::kStdin);
  EXPECT_TRUE(driven.said().empty()) << "nothing new was taken";
  driven.process->close_input(Stream::kStdin);
  EXPECT_EQ(input_in(driven.said()), (wire::InputTaken{7, Stream::kStdin, 3, true}));
  EXPECT_EQ(read_now(driven.theirs.in), "abc");
  EXPECT_TRUE(is_at_end(driven.theirs.in));
  // A second end is none; more input is not taken, and that is said.
  driven.process->close_input(Stream::kStdin);
  EXPECT_TRUE(driven.said().empty());
  driven.process->write_input({7, Stream::kStdin, 3, "more"});
  EXPECT_EQ(input_in(driven.said()), (wire::InputTaken{7, Stream::kStdin, 3, true}));
  // The other stream goes on; those that are no input are ignored.
  driven.process->write_input({7, Stream::kRequests, 0, "r"});
  EXPECT_EQ(read_now(driven.theirs.requests), "r");
  driven.process->write_input({7, Stream::kStdout, 0, "x"});
  driven.process->close_input(Stream::kStderr);
  EXPECT_EQ(driven.process->describe().requests_taken, 1u);
}

TEST(SessionProcess, AnEndWaitsForInputThatIsNotReadYet) {
  Driven driven;
  const std::string input(wire::kInputWindow, 'i');
  driven.process->write_input({7, Stream::kStdin, 0, input});
  driven.process->close_input(Stream::kStdin);
  driven.process->write_input({7, Stream::kStdin, input.size(), "behind the end"});
  std::string got;
  for (int i = 0; i < 1000 && got.size() < input.size(); ++i) {
    driven.turn();
    got += read_now(driven.theirs.in);
  }
  driven.turn();
  EXPECT_EQ(got, input);
  EXPECT_TRUE(is_at_end(driven.theirs.in));
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

TEST(SessionProcess, ASignalDoesNotReachWhoeverHasThePidOfOneThatEnded) {
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
