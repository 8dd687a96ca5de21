#include "confine/server_user.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace glovebox::confine {
namespace {

using ::testing::HasSubstr;

class PasswdFile : public ::testing::Test {
 protected:
  PasswdFile() {
    char name[] = "/tmp/gbx-passwd-XXXXXX";
    ::close(::mkstemp(name));
    path_ = name;
    std::ofstream(path_) << "root:x:0:0::/root:/bin/sh\n# nonsense\nbroken:x:12\n"
                            "box:x:990:991::/:/bin/false\nalias:x:990:0::/:/bin/false\n"
                            "zero:x:0:992::/:/bin/false\nminus:x:993:4294967295::/:/bin/false\n"
                            "letters:x:12a:13::/:/bin/false\ngroup:x:14:1b::/:/bin/false\n"
                            "short:x:994:995\n";
  }
  ~PasswdFile() override { std::filesystem::remove(path_); }
  Result<ServerIds> find(const std::string& user) { return find_server_user(user, 70000, path_); }
  std::string path_;
};

TEST_F(PasswdFile, NamesAndNumbersAreFound) {
  EXPECT_EQ(*find("box"), (ServerIds{990, 991}));
  EXPECT_EQ(*find("990"), (ServerIds{990, 991}));
  EXPECT_EQ(*find("short"), (ServerIds{994, 995}));  // the rest of the line does not matter
  EXPECT_EQ(*find("4000"), (ServerIds{4000, 4000}));
  EXPECT_EQ(*find(""), (ServerIds{70000, 70000}));
}

TEST_F(PasswdFile, RootAndItsGroupAreRefused) {
  for (const char* user : {"root", "0", "alias", "zero", "minus", "4294967295"}) {
    const auto found = find(user);
    ASSERT_FALSE(found) << user;
    EXPECT_THAT(found.error().message(), HasSubstr("choose another"));
  }
}

TEST_F(PasswdFile, UnknownAndBrokenNamesAreRefused) {
  for (const char* user :
       {"nobody-here", "broken", "letters", "group", "99999999999", "-1", "12a"}) {
    const auto found = find(user);
    ASSERT_FALSE(found) << user;
    EXPECT_THAT(found.error().message(), HasSubstr(user));
  }
}

// Its exit status: 0, or the number of the check that failed.
int status_of(int (*body)()) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

int become_and_look() {
  if (!become_server_user({1234, 1235})) return 1;
  if (::getuid() != 1234 || ::getegid() != 1235) return 2;
  if (::open("/etc/shadow", O_RDONLY) >= 0) return 3;
  if (::setuid(0) == 0) return 4;
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 5;
  if (::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) return 6;
  if (::prctl(PR_CAPBSET_READ, 0, 0, 0, 0) != 0) return 7;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur != limit.rlim_max) return 8;
  return 0;
}

TEST(BecomeServerUser, LeavesNothingOfRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give it up";
  EXPECT_EQ(status_of(become_and_look), 0);
}

// A kernel (or a filter around us) that says yes and does nothing: `call` returns 0 and has no
// effect.
bool pretend(int call) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  const bool loaded = seccomp_rule_add(filter, SCMP_ACT_ERRNO(0), call, 0) == 0 &&
                      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return loaded;
}

struct Pretended {
  const char* what;
  int call;
  const char* message;
};

constexpr Pretended kPretended[] = {
    {"the user", SCMP_SYS(setresuid), "ids did not change"},
    {"the group", SCMP_SYS(setresgid), "ids did not change"},
    {"the other groups", SCMP_SYS(setgroups), "groups were not dropped"},
    {"the capabilities", SCMP_SYS(capset), "a capability was kept"},
};

TEST(BecomeServerUser, FailsIfSomethingOfRootIsStillThere) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give it up";
  for (const Pretended& step : kPretended) {
    const pid_t child = ::fork();
    if (child == 0) {
      const gid_t group = 4321;
      if (::setgroups(1, &group) != 0) ::_exit(1);
      ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);  // else changing the user already clears them
      if (!pretend(step.call)) ::_exit(2);
      const auto became = become_server_user({1234, 1235});
      if (became) ::_exit(3);
      ::_exit(became.error().message().find(step.message) == std::string::npos ? 4 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 200, 0) << step.what;
  }
}

int become_with_few_files() {
  const rlimit few{512, 1024};
  const rlimit more{512, 1025};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
  const bool may_raise = ::setrlimit(RLIMIT_NOFILE, &more) == 0;  // root of a container may not
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
  if (!become_server_user({1234, 1235})) return 2;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur != limit.rlim_max) return 3;
  return (limit.rlim_max > few.rlim_max) == may_raise ? 0 : 4;
}

TEST(BecomeServerUser, RaisesTheLimitOfOpenFilesAsFarAsItMay) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  EXPECT_EQ(status_of(become_with_few_files), 0);
}

int become_as_nobody() {
  if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) return 1;
  if (!become_server_user({1234, 1235})) return 2;
  if (::getuid() != 65534) return 3;
  return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 4;
}

TEST(BecomeServerUser, KeepsTheUserWhoIsNotRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to change the user first";
  EXPECT_EQ(status_of(become_as_nobody), 0);
}

}  // namespace
}  // namespace glovebox::confine
