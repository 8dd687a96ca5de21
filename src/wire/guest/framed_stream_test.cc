// A stream in frames is what the descriptors at its ends would be if they were one: the same bytes,
// the same end, never more under way than the window, and each side learns when the other is gone.
#include "wire/guest/framed_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace glovebox::wire {
namespace {

using Carries = FramedStream::Carries;

struct Ends {
  UniqueFd ours, users;
};

Ends socket_ends() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}
enum class Pipe { kWeRead, kWeWrite };
Ends pipe_ends(Pipe which) {
  int fds[2];
  if (::pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0) std::abort();
  const bool we_read = which == Pipe::kWeRead;
  return {UniqueFd(fds[we_read ? 0 : 1]), UniqueFd(fds[we_read ? 1 : 0])};
}

// Two sides, with a user at each end, and frames that are carried over when the test says so.
class FramedStreams : public ::testing::Test {
 protected:
  FramedStreams() { ::signal(SIGPIPE, SIG_IGN); }
  void connect(Ends left_ends, Carries left_carries, Ends right_ends, Carries right_carries) {
    left_ = std::move(left_ends);
    right_ = std::move(right_ends);
    left.emplace(7, left_.ours.get(), left_carries);
    right.emplace(7, right_.ours.get(), right_carries);
  }
  void connect_sockets() { connect(socket_ends(), Carries::kBoth, socket_ends(), Carries::kBoth); }
  void connect_pipes() {
    connect(pipe_ends(Pipe::kWeRead), Carries::kOut, pipe_ends(Pipe::kWeWrite), Carries::kIn);
  }
  static Result<> pass(FramedStream& to, const StreamFrame& frame) {
    return std::visit([&](const auto& one) { return to.on(one); }, frame);
  }
  // What an event loop does when there is nothing else to wait for.
  static void poll(FramedStream& stream) {
    if (stream.waits_to_read()) stream.on_readable();
    if (stream.waits_to_write()) stream.on_writable();
  }
  // All frames of `from`, carried to `to`; how many bytes of data.
  std::size_t carry(FramedStream& from, FramedStream& to) {
    std::size_t bytes = 0;
    poll(from);
    while (auto frame = from.next()) {
      if (const auto* data = std::get_if<StreamData>(&*frame)) bytes += data->bytes.size();
      const auto passed = pass(to, *frame);
      EXPECT_TRUE(passed) << passed.error().message();
    }
    if (left->is_over()) left_.ours.reset();
    if (right->is_over()) right_.ours.reset();
    return bytes;
  }
  void carry_both() {
    for (int i = 0; i < 3; ++i) {
      carry(*left, *right);
      carry(*right, *left);
    }
  }
  static std::string read_all(const UniqueFd& fd) {
    std::string text;
    char buffer[65536];
    ssize_t got = 0;
    while ((got = ::read(fd.get(), buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  static bool at_end(const UniqueFd& fd) {
    char byte = 0;
    return ::read(fd.get(), &byte, 1) == 0;
  }
  static std::size_t write_all(const UniqueFd& fd, std::string_view text) {
    const ssize_t put = ::write(fd.get(), text.data(), text.size());
    return put < 0 ? 0 : static_cast<std::size_t>(put);
  }

  Ends left_, right_;
  std::optional<FramedStream> left, right;
};

TEST_F(FramedStreams, CarryAFileAndItsEnd) {
  connect_pipes();
  std::string sent, got;
  unsigned seed = 1;
  while (sent.size() < 3'000'000) {
    std::string piece(20'000, '\0');
    for (char& c : piece) c = static_cast<char>((seed = seed * 1103515245 + 12345) >> 16);
    piece.resize(write_all(left_.users, piece));
    sent += piece;
    carry_both();
    got += read_all(right_.users);
  }
  left_.users.reset();
  while (!left->is_over() || !right->is_over()) {
    carry_both();
    got += read_all(right_.users);
  }
  EXPECT_TRUE(got == sent);
  EXPECT_TRUE(at_end(right_.users));
}

TEST_F(FramedStreams, NeverHoldMoreThanTheWindow) {
  connect_pipes();
  std::size_t under_way = 0;
  std::size_t written = 0;
  for (int i = 0; i < 200; ++i) {
    written += write_all(left_.users, std::string(60'000, 'x'));
    under_way += carry(*left, *right);
    carry(*right, *left);
  }
  // What the pipes of both sides hold, and the window between them.
  EXPECT_LE(under_way, kStreamWindow + 65536);
  EXPECT_LE(written, kStreamWindow + 2 * 65536);
  EXPECT_GE(under_way, kStreamWindow);
  EXPECT_FALSE(left->has_next());
  EXPECT_FALSE(left->waits_to_read());  // there is no room for what it would read
  std::size_t got = read_all(right_.users).size();
  for (int i = 0; i < 20; ++i) {
    carry_both();
    got += read_all(right_.users).size();
  }
  EXPECT_EQ(got, written);
}

TEST_F(FramedStreams, GoBothWaysAtOnceAndEndEachWay) {
  connect_sockets();
  write_all(left_.users, "question");
  write_all(right_.users, "answer");
  carry_both();
  EXPECT_EQ(read_all(right_.users), "question");
  EXPECT_EQ(read_all(left_.users), "answer");
  ::shutdown(left_.users.get(), SHUT_WR);
  carry_both();
  EXPECT_TRUE(at_end(right_.users));
  EXPECT_FALSE(left->is_over() || right->is_over());
  write_all(right_.users, "later");
  carry_both();
  EXPECT_EQ(read_all(left_.users), "later");
  right_.users.reset();
  carry_both();
  EXPECT_TRUE(at_end(left_.users));
  EXPECT_TRUE(left->is_over() && right->is_over());
}

TEST_F(FramedStreams, WhatWasWrittenBeforeACloseArrives) {
  connect_sockets();
  write_all(left_.users, "last words");
  left_.users.reset();
  carry(*left, *right);
  EXPECT_EQ(read_all(right_.users), "last words");
  EXPECT_TRUE(at_end(right_.users));
}

TEST_F(FramedStreams, AClosedEndIsToldWithoutAByte) {
  connect_sockets();
  left_.users.reset();
  carry_both();
  EXPECT_TRUE(left->is_over());
  EXPECT_TRUE(at_end(right_.users));
  EXPECT_EQ(write_all(right_.users, "x"), 0u);  // as into a connection that was reset
}

TEST_F(FramedStreams, AReaderThatIsGoneStopsTheWriter) {
  connect_pipes();
  right_.users.reset();
  write_all(left_.users, "x");
  carry_both();
  EXPECT_TRUE(left->is_over() && right->is_over());
  EXPECT_EQ(write_all(left_.users, "x"), 0u);
}

TEST_F(FramedStreams, WhatIsUnderWayToAGoneReaderIsDropped) {
  connect_pipes();
  write_all(left_.users, "first");
  const auto first = left->next();
  write_all(left_.users, "second");
  const auto second = left->next();
  ASSERT_TRUE(first && second);
  right_.users.reset();
  EXPECT_TRUE(pass(*right, *first));
  EXPECT_TRUE(right->is_over());
  EXPECT_TRUE(pass(*right, *second));
  EXPECT_TRUE(pass(*right, StreamFinished{7}));
  EXPECT_TRUE(right->next() == StreamFrame(StreamStopped{7}));
  EXPECT_FALSE(right->next());
}

TEST_F(FramedStreams, SmallPiecesAreNotAllAnswered) {
  connect_pipes();
  for (int i = 0; i < 100; ++i) {
    write_all(left_.users, "x");
    carry(*left, *right);
    EXPECT_FALSE(right->has_next());
  }
}

TEST_F(FramedStreams, RefuseWhatCannotBe) {
  const auto refused = [](const Result<>& result) {
    return !result && result.error().code() == Errc::kProtocol;
  };
  connect_sockets();
  EXPECT_TRUE(refused(left->on(StreamTaken{7, 1})));
  write_all(left_.users, "four");
  ASSERT_TRUE(left->next());
  EXPECT_TRUE(refused(left->on(StreamTaken{7, 5})));
  EXPECT_TRUE(left->on(StreamTaken{7, 4}));
  EXPECT_TRUE(refused(left->on(StreamTaken{7, 3})));
  EXPECT_TRUE(right->on(StreamFinished{7}));
  EXPECT_TRUE(refused(right->on(StreamData{7, "x"})));
  EXPECT_TRUE(refused(right->on(StreamFinished{7})));

  connect_pipes();
  EXPECT_TRUE(refused(left->on(StreamData{7, "x"})));  // it reads
  EXPECT_TRUE(refused(left->on(StreamFinished{7})));
  std::size_t given = 0;
  const StreamData data{7, std::string(kMaxSessionChunk, 'x')};
  while (right->on(data)) given += data.bytes.size();
  EXPECT_LE(given, kStreamWindow + kStreamWindow / 4);

  // Nor does a side that drops everything take it without end.
  connect_pipes();
  right_.users.reset();
  given = 0;
  while (right->on(data)) given += data.bytes.size();
  EXPECT_LE(given, kStreamWindow);
}

}  // namespace
}  // namespace glovebox::wire
