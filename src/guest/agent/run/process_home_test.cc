#include "guest/agent/run/process_home.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace glovebox::agent {
namespace {

TEST(ProcessHome, StandsForTheGuestsHomeAndNothingElse) {
  EXPECT_EQ(path_in_home("/home/user/a.py", "/run/h"), "/run/h/a.py");
  EXPECT_EQ(path_in_home("/home/user", "/run/h"), "/run/h");
  EXPECT_EQ(path_in_home("/home/username/a", "/run/h"), "/home/username/a");
  EXPECT_EQ(path_in_home("/usr/bin/python3", "/run/h"), "/usr/bin/python3");
}

TEST(ProcessHome, IsInArgumentsEnvironmentAndWorkdir) {
  const ExecSpec exec = with_home({.argv = {"/usr/bin/python3", "/home/user/main.py", "x"},
                                   .env = {"HOME=/home/user", "TMPDIR=/tmp", "A=1"},
                                   .terminal = std::nullopt},
                                  "/h");
  EXPECT_EQ(exec.argv, (std::vector<std::string>{"/usr/bin/python3", "/h/main.py", "x"}));
  EXPECT_EQ(exec.env, (std::vector<std::string>{"HOME=/h", "TMPDIR=/h", "A=1"}));
  EXPECT_EQ(exec.workdir, "/h");
}

TEST(ProcessHome, AVariableWithoutAValueStaysAsItIs) {
  const ExecSpec exec = with_home(
      {.argv = {"x"}, .env = {"/home/user", "B=/home/user/b"}, .terminal = std::nullopt}, "/h");
  EXPECT_EQ(exec.env, (std::vector<std::string>{"/home/user", "B=/h/b"}));
}

// In a process of its own: all its children are killed.
int kill_a_family() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return 1;
  const UniqueFd list = open_list_of_children();
  if (!list) return 77;
  int ready[2];
  if (::pipe(ready) != 0) return 2;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::fork() == 0) (void)!::write(ready[1], "r", 1);
    while (true) ::pause();
  }
  char byte = 0;
  if (::read(ready[0], &byte, 1) != 1) return 3;
  kill_descendants(list.get());
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  return ::kill(child, 0) != 0 ? 0 : 4;
}

TEST(KillDescendants, LeavesNoneWhateverTheyForked) {
  const pid_t helper = ::fork();
  if (helper == 0) {
    ::alarm(20);  // a descendant that is left would be waited for
    ::_exit(kill_a_family());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(helper, &status, 0), helper);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "the kernel lists no children";
  }
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 200, 0);
}

}  // namespace
}  // namespace glovebox::agent
