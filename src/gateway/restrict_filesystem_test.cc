// In a child: there is no way back.
#include "gateway/restrict_filesystem.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "sys/landlock.h"

namespace glovebox::gateway {
namespace {

bool can_open(const char* path, int flags) {
  return static_cast<bool>(UniqueFd(::open(path, flags | O_CLOEXEC)));
}

TEST(NarrowView, OnlyWhatLiesBesideTheFilesOfNamesIsSeen) {
  if (sys::landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  // Control: all of it can be opened before.
  ASSERT_TRUE(can_open("/etc/passwd", O_RDONLY));
  ASSERT_TRUE(can_open("/usr/bin/env", O_RDONLY));
  ASSERT_TRUE(can_open("/proc/self/status", O_RDONLY));
  ASSERT_TRUE(can_open("/dev/null", O_WRONLY));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!restrict_to_resolver_files()) ::_exit(1);
    if (!can_open("/etc/passwd", O_RDONLY)) ::_exit(2);
    if (!can_open("/etc/hosts", O_RDONLY)) ::_exit(6);
    if (can_open("/usr/bin/env", O_RDONLY)) ::_exit(3);
    if (can_open("/proc/self/status", O_RDONLY)) ::_exit(4);
    if (can_open("/dev/null", O_WRONLY)) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace glovebox::gateway
