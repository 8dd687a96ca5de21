#include "base/parent_death.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace glovebox {
namespace {

// A child that starts a grandchild, which says that it is ready and waits; then the child ends. The
// grandchild holds the write end of a pipe: its end is the end of that pipe.
TEST(EndWithParent, EndsWhenTheParentIsKilled) {
  int ready[2];
  int alive[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(alive), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const pid_t self = ::getpid();
    if (::fork() == 0) {
      ::close(alive[0]);
      const char said = end_with_parent(self) ? 'y' : 'n';
      (void)!::write(ready[1], &said, 1);
      while (true) ::pause();
    }
    ::close(alive[1]);
    while (true) ::pause();
  }
  ::close(alive[1]);
  char said = 0;
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  pollfd ended{alive[0], POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 10'000), 1);
  for (const int fd : {ready[0], ready[1], alive[0]}) ::close(fd);
}

TEST(EndWithParent, FailsForOneWhoIsNotOurParent) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(end_with_parent(::getpid()) ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace glovebox
