#include "attack/verdict.h"

#include <gtest/gtest.h>

namespace glovebox::attack {
namespace {

AttackRow bomb(std::vector<std::string> outcomes) {
  return {
      .name = "b", .held_by = "the limit", .kind = Kind::kBomb, .outcomes = std::move(outcomes)};
}

TEST(Verdict, AProbeThatWasDeniedIsHeldByItsWall) {
  const Verdict verdict = judge_probe({.name = "p", .held_by = "seccomp"},
                                      {.exit_code = 43, .out = "bpf: EPERM\nmore"});
  EXPECT_TRUE(verdict.held);
  EXPECT_TRUE(verdict.counted);
  EXPECT_EQ(verdict.by, "seccomp");
  EXPECT_EQ(verdict.detail, "bpf: EPERM");
}

TEST(Verdict, AProbeThatSucceededIsNotHeld) {
  const Verdict verdict = judge_probe({.name = "p"}, {.exit_code = 42, .out = "read it"});
  EXPECT_FALSE(verdict.held);
  EXPECT_EQ(verdict.judgement, Judgement::kBroken);
}

TEST(Verdict, AnAttackThatCouldNotBeTriedIsNotCalledHeld) {
  for (const int status : {0, 1, 45, 125, 127, 137}) {
    const Verdict verdict = judge_probe({.name = "p"}, {.exit_code = status});
    EXPECT_FALSE(verdict.held) << status;
    EXPECT_FALSE(verdict.counted) << status;
  }
}

TEST(Verdict, AFilterMayAnswerByKilling) {
  EXPECT_TRUE(judge_probe({.name = "p"}, {.exit_code = 128 + 31}).held);
}

TEST(Verdict, ABombIsHeldOnlyByTheOutcomeItsRowNames) {
  const SandboxReport oom{.exit_code = 137, .oom_killed = true};
  EXPECT_TRUE(judge_bomb(bomb({"oom_killed"}), oom).held);
  EXPECT_FALSE(judge_bomb(bomb({"timed_out"}), oom).held);
}

TEST(Verdict, AFullDiskMustNotBeAnOomKill) {
  const SandboxReport full{.exit_code = 43, .out = "write after 15 MiB: ENOSPC\n"};
  EXPECT_TRUE(judge_bomb(bomb({"enospc"}), full).held);
  SandboxReport killed = full;
  killed.oom_killed = true;
  EXPECT_FALSE(judge_bomb(bomb({"enospc"}), killed).held);
}

TEST(Verdict, AnotherErrnoIsNotTheOneExpected) {
  const SandboxReport report{.exit_code = 43, .out = "write: EIO\n"};
  EXPECT_FALSE(judge_bomb(bomb({"enospc"}), report).held);
}

TEST(Verdict, ABombThatGotThroughIsNotHeldWhateverItsRowNames) {
  EXPECT_EQ(judge_bomb(bomb({"eagain"}), {.exit_code = 42}).judgement, Judgement::kBroken);
}

TEST(Verdict, WhatTheKernelLacksIsReportedAndNotCounted) {
  const Verdict verdict = verdict_of({.name = "k"}, Judgement::kKernelLacks, "kexec_load: ENOSYS");
  EXPECT_EQ(verdict.by, "kernel lacks it");
  EXPECT_FALSE(verdict.counted);
}

TEST(Verdict, EveryJudgementHasAWordOfItsOwn) {
  EXPECT_EQ(judgement_name(Judgement::kHeld), "stopped");
  EXPECT_EQ(judgement_name(Judgement::kBroken), "succeeded");
  EXPECT_EQ(judgement_name(Judgement::kNotTried), "not-tried");
  EXPECT_EQ(judgement_name(Judgement::kKernelLacks), "kernel-lacks-it");
}

}  // namespace
}  // namespace glovebox::attack
