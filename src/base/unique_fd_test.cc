#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
int open_null() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(UniqueFd, ClosesAtTheEndOfItsScope) {
  int raw = -1;
  {
    const UniqueFd fd(open_null());
    raw = fd.get();
    ASSERT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(UniqueFd, MoveAssignClosesTheOldDescriptor) {
  UniqueFd a(open_null());
  UniqueFd b(open_null());
  const int old = a.get();
  const int kept = b.get();
  a = std::move(b);
  EXPECT_FALSE(is_open(old));
  EXPECT_EQ(a.get(), kept);
  EXPECT_TRUE(is_open(kept));
}

TEST(UniqueFd, ReleaseGivesUpOwnership) {
  UniqueFd fd(open_null());
  const int raw = fd.release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(raw));
  ::close(raw);
}

TEST(UniqueFd, ResetKeepsErrno) {
  UniqueFd fd(open_null());
  errno = ENOSPC;
  fd.reset();
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace glovebox
