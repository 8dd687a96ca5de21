#include "attack/child_process.h"

#include <gtest/gtest.h>

namespace glovebox::attack {
namespace {

Command shell(std::string script) { return {.argv = {"/bin/sh", "-c", std::move(script)}}; }

TEST(ChildProcess, CollectsOutputAndExitStatus) {
  const auto finished = run_command(shell("echo out; echo err >&2; exit 7"));
  ASSERT_TRUE(finished) << finished.error().message();
  EXPECT_EQ(finished->out, "out\n");
  EXPECT_EQ(finished->err, "err\n");
  EXPECT_EQ(finished->exit_code, 7);
}

TEST(ChildProcess, ReportsASignalAsAShellWould) {
  const auto finished = run_command(shell("kill -9 $$"));
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit_code, 137);
}

TEST(ChildProcess, ADeadlineEndsWhatHangs) {
  Command command = shell("exec sleep 600");
  command.limit = std::chrono::milliseconds(100);
  const auto finished = run_command(command);
  ASSERT_TRUE(finished);
  EXPECT_TRUE(finished->hung);
}

TEST(ChildProcess, IsStartedByAnotherProgramIfConfigured) {
  Command command = shell("echo $WHO");
  command.inherits.through = {"/usr/bin/env", "WHO=through"};
  const auto finished = run_command(command);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->out, "through\n");
}

TEST(ChildProcess, LeavesExactlyTheGivenDescriptorsOpen) {
  const char* const count = "ls /proc/self/fd | wc -l";
  const auto closed = run_command(shell(count));
  Command command = shell(count);
  command.inherits.leaked_dir = "/";
  const auto leaked = run_command(command);
  ASSERT_TRUE(closed && leaked);
  EXPECT_EQ(std::stoi(leaked->out), std::stoi(closed->out) + 1);
}

TEST(ChildProcess, GivesATerminalOnlyWhenAsked) {
  Command command = shell("exec 3<>/dev/tty && echo yes");
  command.inherits.controlling_tty = true;
  const auto finished = run_command(command);
  ASSERT_TRUE(finished) << finished.error().message();
  EXPECT_EQ(finished->out, "yes\n");
}

TEST(ChildProcess, ReportsWhenTheProgramIsReadyAndThenEndsItsInput) {
  Command command = shell("echo ready; cat; echo over");
  int calls = 0;
  command.when_ready = [&] { ++calls; };
  const auto finished = run_command(command);
  ASSERT_TRUE(finished) << finished.error().message();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(finished->out, "ready\nover\n");
}

TEST(ChildProcess, AMissingProgramIsAnError) {
  EXPECT_FALSE(run_command({.argv = {"/nowhere/at/all"}}));
}

}  // namespace
}  // namespace glovebox::attack
