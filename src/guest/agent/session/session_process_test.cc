// A process of a session, without the process: the test has the other ends of its pipes.
#include "guest/agent/session/session_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>

#include <map>

namespace glovebox::agent {
namespace {

using wire::Stream;

class Driven {
 public:
  explicit Driven(bool lossy = false, bool subscribed = true)
      : epoll_(::epoll_create1(EPOLL_CLOEXEC)), null_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {
    ::signal(SIGPIPE, SIG_IGN);  // as the agent does
    wire::StartProcess start;
    start.process = 7;
    start.kind = wire::ProcessKind::kContext;
    start.exec.argv = {"x"};
    start.has_stdin = true;
    start.lossy = lossy;
    start.subscribed = subscribed;
    process = std::make_unique<SessionProcess>(start, epoll_.get(), 0);
    SessionStreams streams;
    EXPECT_TRUE(make_streams(start, SessionUser{}, false, null_.get(), streams));
    theirs = std::move(streams.theirs);
    for (const UniqueFd* fd :
         {&theirs.in, &theirs.out, &theirs.err, &theirs.results, &theirs.requests}) {
      ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
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
  for (const auto& frame : driven.said()) {
    const auto* output = std::get_if<wire::Output>(&frame);
    if (output == nullptr || output->stream != Stream::kResults) continue;
    EXPECT_GE(output->out_before, output->offset + output->bytes.size());
    EXPECT_GE(output->out_before, last);
    last = output->out_before;
  }
  EXPECT_EQ(driven.ends[Stream::kResults], 5000u);
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
  // Its children still have the pipe.
  driven.print(driven.theirs.out, "late");
  driven.said();
  EXPECT_EQ(driven.ends[Stream::kStdout], printed + 4);
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

}  // namespace
}  // namespace glovebox::agent
