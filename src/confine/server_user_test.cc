#include "confine/server_user.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
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
                            "box:x:990:991::/:/bin/false\nalias:x:990:0::/:/bin/false\n";
  }
  ~PasswdFile() override { std::filesystem::remove(path_); }
  Result<ServerIds> find(const std::string& user) { return find_server_user(user, 70000, path_); }
  std::string path_;
};

TEST_F(PasswdFile, NamesAndNumbersAreFound) {
  EXPECT_EQ(*find("box"), (ServerIds{990, 991}));
  EXPECT_EQ(*find("990"), (ServerIds{990, 991}));
  EXPECT_EQ(*find("4000"), (ServerIds{4000, 4000}));
  EXPECT_EQ(*find(""), (ServerIds{70000, 70000}));
}

TEST_F(PasswdFile, RootAndItsGroupAreRefused) {
  for (const char* user : {"root", "0", "alias", "4294967295"}) {
    const auto found = find(user);
    ASSERT_FALSE(found) << user;
    EXPECT_THAT(found.error().message(), HasSubstr("choose another"));
  }
}

TEST_F(PasswdFile, UnknownAndBrokenNamesAreRefused) {
  for (const char* user : {"nobody-here", "broken", "99999999999", "-1"}) {
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
