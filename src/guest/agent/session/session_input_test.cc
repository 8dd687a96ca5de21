// What a process of a session is given to read.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <optional>

#include "guest/agent/session/testing/driven_process.h"

namespace glovebox::agent {
namespace {

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
  ASSERT_TRUE(Driven::await_readable(driven.theirs.in));
  ASSERT_EQ(::read(driven.theirs.in.get(), buffer, sizeof buffer), 4);
  EXPECT_EQ(std::string(buffer, 4), "abc\n");
  ASSERT_TRUE(Driven::await_readable(driven.theirs.in));
  EXPECT_EQ(::read(driven.theirs.in.get(), buffer, sizeof buffer), 0) << "once";
  EXPECT_EQ(::read(driven.theirs.in.get(), buffer, sizeof buffer), -1) << "and not twice";
  // The turn above may have read the echo already: there is an event to wait for only if not.
  std::string echo;
  for (;;) {
    for (const auto& frame : driven.said()) {
      const auto* output = std::get_if<wire::Output>(&frame);
      if (output != nullptr) echo += output->bytes;
      const auto* taken = std::get_if<wire::InputTaken>(&frame);
      EXPECT_FALSE(taken != nullptr && taken->closed) << "it cannot be half-closed";
    }
    if (echo.find("abc") != std::string::npos) break;
    ASSERT_TRUE(driven.await_event()) << "no echo";
  }
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

}  // namespace
}  // namespace glovebox::agent
