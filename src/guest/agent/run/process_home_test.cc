#include "guest/agent/run/process_home.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace glovebox::agent
