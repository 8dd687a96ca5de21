// Each limit ends or refuses with the outcome that is its own.
#include "engine_contract.h"

namespace glovebox::contract {
namespace {

class ProgramLimits : public EngineContract {};

// Touches 500 MB in a single call into the kernel. A program that runs code of its own between its
// pages can make the kernel read that code again and again, for seconds, before it gives up and
// kills; this cannot.
engine::RunRequest eat_memory() {
  engine::RunRequest request =
      program({"/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=500M", "count=1"});
  request.sandbox.limits.memory_bytes = 64u << 20;
  request.sandbox.limits.disk_bytes = 8u << 20;
  return request;
}

TEST_P(ProgramLimits, WallTimeEndsASleeper) {
  const std::string word = unique_word();
  engine::RunRequest request = program({"/bin/sleep", word});
  request.sandbox.limits.wall = std::chrono::milliseconds(300);
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_TRUE(ran.outcome().timed_out);
  EXPECT_EQ(ran.outcome().exit_code, kExitTimeout);
  EXPECT_FALSE(ran.outcome().oom_killed);
  EXPECT_GE(ran.took.count(), 250);
  EXPECT_LT(ran.took.count(), 10'000);
  EXPECT_TRUE(gone_from_host(word));
}

TEST_P(ProgramLimits, WallTimeEndsAProgramThatIgnoresSignals) {
  const std::string word = unique_word();
  engine::RunRequest request =
      shell("trap '' TERM INT HUP XCPU; sleep " + word + "; sleep " + word);
  request.sandbox.limits.wall = std::chrono::milliseconds(300);
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_TRUE(ran.outcome().timed_out);
  EXPECT_EQ(ran.outcome().exit_code, kExitTimeout);
  EXPECT_TRUE(gone_from_host(word));
}

TEST_P(ProgramLimits, WhatWasPrintedBeforeTheTimeoutIsKept) {
  engine::RunRequest request = shell("echo begun; exec sleep 1000");
  request.sandbox.limits.wall = std::chrono::milliseconds(500);
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_TRUE(ran.outcome().timed_out);
  EXPECT_EQ(ran.out, "begun\n");
}

TEST_P(ProgramLimits, CpuTimeEndsASpinner) {
  engine::RunRequest request = program({"/usr/bin/perl", "-e", "1 while 1"});
  request.sandbox.limits.wall = std::chrono::seconds(60);
  request.sandbox.limits.cpu_time = std::chrono::milliseconds(300);
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_TRUE(ran.outcome().timed_out) << ran.story();
  EXPECT_EQ(ran.outcome().exit_code, kExitTimeout);
  EXPECT_GE(ran.outcome().usage.cpu.count(), 250'000);
  EXPECT_LT(ran.took.count(), 20'000);
}

TEST_P(ProgramLimits, CpuTimeDoesNotCountSleep) {
  engine::RunRequest request = shell("sleep 0.7; echo woke");
  request.sandbox.limits.cpu_time = std::chrono::milliseconds(500);
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_FALSE(ran.outcome().timed_out);
  EXPECT_EQ(ran.out, "woke\n");
}

TEST_P(ProgramLimits, MemoryPastItsLimitIsAnOomKill) {
  if (!features().walls.has(Wall::kMemoryLimit)) {
    GTEST_SKIP() << GetParam() << " has no memory limit of its own here";
  }
  const Collected ran = run(eat_memory());
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_TRUE(ran.outcome().oom_killed) << ran.story();
  EXPECT_EQ(ran.outcome().exit_code, kExitKilled);
  EXPECT_FALSE(ran.outcome().timed_out);
  EXPECT_EQ(ran.out, "");
}

TEST_P(ProgramLimits, MemoryIsBoundedOneWayOrAnother) {
  const Collected ran = run(eat_memory());
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_NE(ran.outcome().exit_code, 0) << ran.story();
  EXPECT_EQ(ran.out, "");
}

TEST_P(ProgramLimits, AnExplicitMemoryLimitStandsAndTheAnswerSaysHow) {
  engine::RunRequest request = program({"/bin/true"});
  request.sandbox.limits.mark_asked_for(LimitKind::kMemory);
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  const WallSet& walls = ran.outcome().walls;
  EXPECT_NE(walls.has(Wall::kMemoryLimit), walls.has(Wall::kMemoryPerProcess)) << ran.story();
}

TEST_P(ProgramLimits, AFullDiskIsAnErrorToTheProgramAndNotAnOomKill) {
  if (!features().walls.has(Wall::kPrivateRoot)) {
    GTEST_SKIP() << GetParam() << " has no disk of its own";
  }
  engine::RunRequest request =
      shell("head -c 64M /dev/zero > full 2> why; echo $?; head -c 200 why >&2; stat -c %s full");
  request.sandbox.limits.disk_bytes = 16u << 20;
  request.sandbox.limits.memory_bytes = 64u << 20;
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out.substr(0, 2), "1\n") << ran.story();
  EXPECT_FALSE(ran.outcome().oom_killed);
  EXPECT_LE(std::stoull(ran.out.substr(2)), 16u << 20);
}

TEST_P(ProgramLimits, ProcessesPastTheirLimitCannotBeMade) {
  if (!features().walls.has(Wall::kPidsLimit)) {
    GTEST_SKIP() << GetParam() << " has no process limit of its own here";
  }
  engine::RunRequest request =
      program({"/usr/bin/perl", "-e",
               "my $n = 0; while ($n < 100) { my $p = fork; last unless defined $p;"
               "if (!$p) { sleep 1000; exit } $n++ } print $n"});
  request.sandbox.limits.pids = 16;
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  ASSERT_FALSE(ran.out.empty()) << ran.story();
  EXPECT_GE(std::stoi(ran.out), 8) << ran.story();
  EXPECT_LT(std::stoi(ran.out), 16) << ran.story();
  EXPECT_EQ(ran.outcome().exit_code, 0);
}

TEST_P(ProgramLimits, OneRunsTimeoutDoesNotTouchTheNext) {
  engine::RunRequest late = program({"/bin/sleep", "1000"});
  late.sandbox.limits.wall = std::chrono::milliseconds(200);
  ASSERT_TRUE(run(late).ran());
  const Collected next = run(shell("echo fresh"));
  ASSERT_TRUE(next.ran()) << next.story();
  EXPECT_EQ(next.out, "fresh\n");
  EXPECT_FALSE(next.outcome().timed_out);
}

INSTANTIATE_TEST_SUITE_P(EveryEngine, ProgramLimits, ::testing::ValuesIn(every_engine()),
                         engine_of);

}  // namespace
}  // namespace glovebox::contract
