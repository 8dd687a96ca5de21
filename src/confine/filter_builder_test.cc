#include "confine/filter_builder.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace glovebox::confine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Of a child: its exit status, or 200 + the signal that ended it.
template <class Body>
int status_of(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

// What the sanitizer and the end of a child need.
void allow_the_test_itself(FilterBuilder& filter) {
  for (const char* name : {"exit_group", "futex", "madvise", "mmap", "munmap", "rt_sigprocmask",
                           "sigaltstack", "write"}) {
    filter.allow(name);
  }
}

TEST(FilterBuilder, AllowsWhatWasAddedAndRefusesTheRest) {
  int bytes[2];
  ASSERT_EQ(::pipe(bytes), 0);
  ASSERT_EQ(::write(bytes[1], "a", 1), 1);
  EXPECT_EQ(status_of([&] {
              FilterBuilder filter("test");
              allow_the_test_itself(filter);
              filter.allow("read");  // on x86-64 its number is 0, the lowest of all
              if (!filter.load()) return 1;
              char letter = 0;
              if (::syscall(SYS_read, bytes[0], &letter, 1) != 1 || letter != 'a') return 2;
              return ::syscall(SYS_getppid) == -1 && errno == EPERM ? 0 : 3;
            }),
            0);
  ::close(bytes[0]);
  ::close(bytes[1]);
}

TEST(FilterBuilder, IgnoresACallOfAnotherArchitecture) {
  EXPECT_EQ(status_of([] {
              FilterBuilder filter("test");
              allow_the_test_itself(filter);
              // Together these are of no single architecture.
              for (const char* name : {"mmap2", "arm_fadvise64_64", "s390_pci_mmio_read"}) {
                filter.add(SCMP_ACT_KILL_PROCESS, name);
              }
              return filter.load() ? 0 : 1;
            }),
            0);
}

TEST(FilterBuilder, AnUnknownCallIsAnErrorThatNamesIt) {
  FilterBuilder filter("the test's filter");
  filter.allow("no_such_call");
  filter.allow("another_unknown_call");  // the first error is reported
  const auto loaded = filter.load();
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message(),
              AllOf(HasSubstr("the test's filter"), HasSubstr("no_such_call")));
}

TEST(FilterBuilder, LoadsNothingAfterAnError) {
  EXPECT_EQ(status_of([] {
              FilterBuilder filter("test");
              filter.allow("no_such_call");
              filter.allow("exit_group");
              if (filter.load()) return 1;
              return ::syscall(SYS_getppid) > 0 ? 0 : 2;  // without a filter
            }),
            0);
}

// A filter around us that refuses every further one, as the kernel would without privileges.
bool refuse_further_filters() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  const bool loaded = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(seccomp), 0) == 0 &&
                      seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(prctl), 1,
                                       SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)) == 0 &&
                      seccomp_load(filter) == 0;
  seccomp_release(filter);
  return loaded;
}

TEST(FilterBuilder, AKernelThatTakesNoFilterIsAnError) {
  EXPECT_EQ(status_of([] {
              if (!refuse_further_filters()) return 1;
              FilterBuilder filter("test");
              allow_the_test_itself(filter);
              return filter.load() ? 2 : 0;
            }),
            0);
}

}  // namespace
}  // namespace glovebox::confine
