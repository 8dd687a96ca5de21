#include "base/fd_message.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace glovebox {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(FdMessage, CarriesBytesAndDescriptors) {
  SocketPair pair = seqpacket_pair().value();
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fds[] = {null.get(), null.get()};
  ASSERT_TRUE(send_message(pair.ours.get(), bytes_of("hello"), fds));
  const Received got = receive_message(pair.theirs.get(), 64, 2).value();
  EXPECT_EQ(got.bytes.size(), 5u);
  ASSERT_EQ(got.fds.size(), 2u);
  EXPECT_EQ(::fcntl(got.fds[0].get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(FdMessage, AnOversizedMessageIsAnErrorAndLeaksNothing) {
  SocketPair pair = seqpacket_pair().value();
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fds[] = {null.get(), null.get(), null.get()};
  const std::ptrdiff_t before = open_descriptors();
  ASSERT_TRUE(send_message(pair.ours.get(), bytes_of("hello"), fds));
  EXPECT_FALSE(receive_message(pair.theirs.get(), 64, 2));
  ASSERT_TRUE(send_message(pair.ours.get(), bytes_of("hello"), fds));
  EXPECT_FALSE(receive_message(pair.theirs.get(), 3, 3));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(FdMessage, AClosedPeerIsAnEmptyMessage) {
  SocketPair pair = seqpacket_pair().value();
  pair.ours.reset();
  EXPECT_TRUE(receive_message(pair.theirs.get(), 64, 0).value().bytes.empty());
}

}  // namespace
}  // namespace glovebox
