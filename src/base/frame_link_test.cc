// Frames over sockets of both kinds: whole or not there, however the bytes arrive, and also for who
// comes after a program that ended in the middle of one.
#include "base/frame_link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>

namespace glovebox {
namespace {

constexpr std::size_t kMost = 160 * 1024;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

class FrameLinks : public ::testing::Test {
 protected:
  FrameLinks() { ::signal(SIGPIPE, SIG_IGN); }
  void connect(Result<SocketPair> pair) {
    for (const UniqueFd* end : {&pair->ours, &pair->theirs}) {
      ASSERT_EQ(::fcntl(end->get(), F_SETFL, O_NONBLOCK), 0);
    }
    ends_ = std::move(*pair);
    ours.emplace(ends_.ours.get(), kMost);
    theirs.emplace(ends_.theirs.get(), kMost);
  }
  // As another program in the place of the one that has their end.
  void replace_theirs() { theirs.emplace(ends_.theirs.get(), kMost); }
  void raw(std::span<const std::byte> bytes) {
    ASSERT_EQ(::write(ends_.ours.get(), bytes.data(), bytes.size()), ssize_t(bytes.size()));
  }
  void raw(std::string_view bytes) { raw(bytes_of(bytes)); }
  // Nothing: no frame is there.
  static std::optional<std::string> next(FrameLink& link) {
    auto received = link.receive(0);
    if (!received) {
      EXPECT_EQ(received.error().sys_errno(), EAGAIN) << received.error().message();
      return std::nullopt;
    }
    return std::string(reinterpret_cast<const char*>(received->bytes.data()),
                       received->bytes.size());
  }
  static bool is_refused(FrameLink& link) {
    const auto received = link.receive(0);
    return !received && received.error().code() == Errc::kProtocol;
  }

  SocketPair ends_;
  std::optional<FrameLink> ours, theirs;
};

TEST_F(FrameLinks, GoThroughMessagesAndByteStreams) {
  for (const bool byte_stream : {false, true}) {
    connect(byte_stream ? byte_stream_pair() : seqpacket_pair());
    EXPECT_EQ(ours->is_byte_stream(), byte_stream);
    EXPECT_FALSE(next(*theirs));
    ASSERT_TRUE(ours->send(bytes_of("first")));
    ASSERT_TRUE(ours->send(bytes_of(std::string("\0\xf5\xfa", 3))));
    EXPECT_EQ(next(*theirs), "first");
    EXPECT_EQ(next(*theirs), std::string("\0\xf5\xfa", 3));
    EXPECT_FALSE(next(*theirs));
    ends_.ours.reset();
    EXPECT_EQ(next(*theirs), "");
  }
}

TEST_F(FrameLinks, BringDescriptorsInMessagesOnly) {
  connect(seqpacket_pair());
  const int fds[] = {0};
  ASSERT_TRUE(ours->send(bytes_of("x"), fds));
  EXPECT_EQ(theirs->receive(1).value().fds.size(), 1u);
  connect(byte_stream_pair());
  EXPECT_FALSE(ours->send(bytes_of("x"), fds));
  EXPECT_FALSE(next(*theirs));
}

TEST_F(FrameLinks, MayArriveByteByByte) {
  connect(byte_stream_pair());
  const std::string whole = std::string("\0\0\xf5\3\0\0\0abc\xfa\0\xf5\1\0\0\0d\xfa", 19);
  std::vector<std::string> frames;
  for (const char byte : whole) {
    raw(std::string_view(&byte, 1));
    if (const auto frame = next(*theirs)) frames.push_back(*frame);
  }
  EXPECT_EQ(frames, (std::vector<std::string>{"abc", "d"}));
}

TEST_F(FrameLinks, ThatDoNotFitAreFinishedLater) {
  connect(byte_stream_pair());
  const std::string large(kMost, 'x');
  int accepted = 0;
  while (ours->send(bytes_of(large))) ++accepted;
  ASSERT_GT(accepted, 0);
  EXPECT_TRUE(ours->has_unsent());
  EXPECT_EQ(ours->flush().error().sys_errno(), EAGAIN);
  for (int i = 0; i < accepted; ++i) {
    std::optional<std::string> frame;
    while (!(frame = next(*theirs))) (void)ours->flush();
    EXPECT_EQ(*frame, large);
  }
  EXPECT_FALSE(ours->has_unsent());
  EXPECT_FALSE(next(*theirs));
}

TEST_F(FrameLinks, OfImpossibleLengthsAndGarbageAreRefusedAndSkipped) {
  connect(byte_stream_pair());
  raw(std::string_view("\xf5\0\0\0\0", 5));
  EXPECT_TRUE(is_refused(*theirs));
  raw(std::string_view("\xf5\xff\xff\xff\xff", 5));
  EXPECT_TRUE(is_refused(*theirs));
  raw(std::string_view("\xf5\1\x80\2\0", 5));  // one byte more than a frame may have
  EXPECT_TRUE(is_refused(*theirs));
  raw("?");
  ASSERT_TRUE(ours->send(bytes_of("x")));
  EXPECT_TRUE(is_refused(*theirs));
  EXPECT_EQ(next(*theirs), "x");
  raw(std::string_view("\xf5\1\0\0\0xy", 7));  // not closed
  EXPECT_TRUE(is_refused(*theirs));
  ASSERT_TRUE(ours->send(bytes_of("x")));
  EXPECT_EQ(next(*theirs), "x");
}

// What the receiver sees of a frame that a program sent up to `cut` bytes before it ended, and of
// the next program's first frame.
TEST_F(FrameLinks, ThatWereCutOffAreNotTaken) {
  const std::string frame = std::string("\xf5\5\0\0\0hello\xfa", 11);
  for (std::size_t cut = 0; cut <= frame.size(); ++cut) {
    connect(byte_stream_pair());
    raw(frame.substr(0, cut));
    ours->flush_cut_frame();
    std::vector<std::string> frames;
    Result<> sent = ours->send(bytes_of("after"));
    while (!sent || ours->has_unsent() || frames.empty() || frames.back() != "after") {
      auto received = theirs->receive(0);
      if (received) {
        frames.emplace_back(reinterpret_cast<const char*>(received->bytes.data()),
                            received->bytes.size());
      } else if (received.error().sys_errno() == EAGAIN) {
        sent = sent ? ours->flush() : ours->send(bytes_of("after"));
      }
    }
    const bool is_whole = cut == frame.size();
    EXPECT_EQ(frames, is_whole ? (std::vector<std::string>{"hello", "after"})
                               : std::vector<std::string>{"after"})
        << cut;
  }
}

TEST_F(FrameLinks, BeforeAMarkAreSkipped) {
  std::vector<std::byte> mark(FrameLink::kMarkBytes, std::byte{'m'});
  mark[0] = std::byte{'k'};
  for (std::size_t begun = 0; begun < 40; ++begun) {
    connect(byte_stream_pair());
    raw(std::string_view("\xf5\x20\0\0\0kmkmmmmmmmmmmmmmmk", 23).substr(begun % 23));
    theirs->seek(mark);
    EXPECT_FALSE(next(*theirs));
    ours->send_mark(mark);
    ASSERT_TRUE(ours->send(bytes_of("new")));
    EXPECT_EQ(next(*theirs), "new");
  }
}

TEST_F(FrameLinks, AMarkIsSentBehindTheFrameThatWasBegun) {
  connect(byte_stream_pair());
  const std::vector<std::byte> mark(FrameLink::kMarkBytes, std::byte{'m'});
  while (ours->send(bytes_of(std::string(kMost, 'x')))) {
  }
  ours->send_mark(mark);
  replace_theirs();
  theirs->seek(mark);
  std::optional<std::string> frame;
  bool sent = false;
  while (!(frame = next(*theirs))) {
    if (sent) {
      (void)ours->flush();
    } else {
      sent = ours->send(bytes_of("new")).has_value();
    }
  }
  EXPECT_EQ(frame, "new");
}

TEST_F(FrameLinks, NeedNoMarkInMessages) {
  connect(seqpacket_pair());
  const std::vector<std::byte> mark(FrameLink::kMarkBytes, std::byte{'m'});
  ours->flush_cut_frame();
  ours->send_mark(mark);
  theirs->seek(mark);
  EXPECT_FALSE(ours->has_unsent());
  ASSERT_TRUE(ours->send(bytes_of("x")));
  EXPECT_EQ(next(*theirs), "x");
}

}  // namespace
}  // namespace glovebox
