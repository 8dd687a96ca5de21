// Tests of sandboxes that serve one run after the other: who shares one, and when one is not used
// again.
#include "node/testing/node_fixture.h"

namespace glovebox::node {
namespace {

class ReusableSandboxesTest : public NodeTest {
 protected:
  ReusableSandboxesTest() {
    options.cpus = 1;
    begin({status_of("python", RuntimeKind::kPython, 0, 4)});
  }

  static RunJob reusing(std::string key = "a") {
    RunJob job = python();
    job.reuse = std::move(key);
    return job;
  }
  RunReport run(RunJob job) {
    const auto call = finish(std::move(job));
    settle();
    EXPECT_TRUE(*call->result) << call->result->error().message();
    return *call->result ? **call->result : RunReport{};
  }
};

TEST_F(ReusableSandboxesTest, RunsOfOneKeyShareASandboxOneAfterTheOther) {
  const RunReport first = run(reusing());
  EXPECT_EQ(first.reused, 0u);
  std::set<std::string> sandboxes = {first.sandbox};
  std::uint32_t most = 0;
  for (int i = 0; i < 10; ++i) {
    const RunReport next = run(reusing());
    ASSERT_TRUE(next.reused);
    most = std::max(most, *next.reused);
    sandboxes.insert(next.sandbox);
  }
  EXPECT_LE(sandboxes.size(), 2u) << "one in use and one that is cleaned, on one CPU";
  EXPECT_GE(most, 5u);
  EXPECT_EQ(launcher.created, launcher.created_reusable);
  EXPECT_EQ(launcher.recycled.size(), 11u);
  EXPECT_EQ(launcher.destroyed, 0);
  EXPECT_FALSE(launcher.reused) << "each run has a socket and a runtime of its own";
}

TEST_F(ReusableSandboxesTest, RunsOfOtherKeysAndOtherTemplatesDoNot) {
  const RunReport first = run(reusing("a"));
  const RunReport other = run(reusing("b"));
  EXPECT_NE(first.sandbox, other.sandbox);
  EXPECT_EQ(other.reused, 0u);
  const RunReport never = run(python());
  EXPECT_NE(never.sandbox, first.sandbox);
  EXPECT_NE(never.sandbox, other.sandbox);
  EXPECT_FALSE(never.reused);
}

TEST_F(ReusableSandboxesTest, TheSandboxOfARunThatDidNotEndInOrderIsDestroyed) {
  launcher.script.hangs = true;
  const auto call = start(reusing());
  until([&] { return launcher.taken.size() == 1; });
  const std::string cut_off = launcher.taken[0];
  settle();
  call->cancel->cancel();
  until([&] { return call->done(); });
  settle();
  EXPECT_TRUE(launcher.recycled.empty());
  EXPECT_FALSE(launcher.alive.contains(cut_off));
  launcher.script.hangs = false;
  EXPECT_NE(run(reusing()).sandbox, cut_off);
}

TEST_F(ReusableSandboxesTest, ASandboxThatDiesWithItsRunIsReplaced) {
  launcher.script.hangs = true;
  const auto call = start(reusing());
  until([&] { return launcher.taken.size() == 1; });
  settle();
  launcher.end(launcher.taken[0], EndReason::kWallTimeout);
  until([&] { return call->done(); });
  settle();
  EXPECT_TRUE((*call->result)->outcome.timed_out);
  EXPECT_TRUE(launcher.recycled.empty());
  launcher.script.hangs = false;
  EXPECT_EQ(run(reusing()).reused, 0u);
}

TEST_F(ReusableSandboxesTest, ASandboxThatCannotBeCleanedIsNotUsedAgain) {
  launcher.refuses_recycling = wire::SandboxRefused{0, Errc::kUnavailable, 0, "not clean"};
  const RunReport first = run(reusing());
  const RunReport second = run(reusing());
  EXPECT_EQ(second.reused, 0u);
  EXPECT_NE(first.sandbox, second.sandbox);
}

TEST_F(ReusableSandboxesTest, ASandboxServesSoManyRunsAndNoMore) {
  options.reuse_max_calls = 3;
  node.reset();
  begin({status_of("python", RuntimeKind::kPython, 0, 4)});
  std::map<std::string, int> runs;
  for (int i = 0; i < 12; ++i) ++runs[run(reusing()).sandbox];
  for (const auto& [sandbox, count] : runs) EXPECT_LE(count, 3) << sandbox;
  EXPECT_GE(launcher.destroyed, 3);
}

TEST_F(ReusableSandboxesTest, IdleOnesAreDroppedAfterAWhile) {
  (void)run(reusing());
  EXPECT_FALSE(launcher.alive.empty());
  now += options.reuse_idle + seconds(2);
  // The clock of the node is the test's; its timer is not.
  until([&] { return launcher.alive.empty(); });
}

TEST_F(ReusableSandboxesTest, ATemplateThatChangedGetsNewSandboxes) {
  const RunReport first = run(reusing());
  TemplateStatus changed = status_of("python", RuntimeKind::kPython, 0, 4);
  changed.generation = 2;
  launcher.generation = 2;
  launcher.tell(changed);
  settle();
  const RunReport second = run(reusing());
  EXPECT_NE(first.sandbox, second.sandbox);
}

TEST_F(ReusableSandboxesTest, ManyRunsAtOnceAreAllServedByFewSandboxes) {
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < 40; ++i) calls.push_back(start(reusing()));
  for (const auto& call : calls) until([&] { return call->done(); });
  for (const auto& call : calls) ASSERT_TRUE(*call->result) << call->result->error().message();
  EXPECT_LE(launcher.created, 5);
  EXPECT_TRUE(std::find(launcher.recycled.begin(), launcher.recycled.end(), true) !=
              launcher.recycled.end())
      << "runtimes that others wait for do not rehearse";
}

// Sandboxes that are kept for their owner's next run count as its own, and hold up no run: neither
// one of another owner, nor another one of this owner.
class IdleReusableSandboxes : public ReusableSandboxesTest {
 protected:
  void begin_again() {
    node.reset();
    begin({status_of("python", RuntimeKind::kPython, 0, 4)});
  }
  static RunJob job_of(std::string owner, std::string key) {
    RunJob job = key.empty() ? python() : reusing(std::move(key));
    job.owner = std::move(owner);
    job.limits.pids = 500;
    return job;
  }
};

TEST_F(IdleReusableSandboxes, GiveTheirProcessesToOtherOwners) {
  launcher.host.pids_limit = 8192;  // a half is for runs
  begin_again();
  until([&] { return node->figures().host.pids_limit == 8192; });
  for (int i = 0; i < 8; ++i) (void)run(job_of("hostile", "key " + std::to_string(i)));
  ASSERT_EQ(launcher.alive.size(), 8u) << "all of them are kept";
  const auto victims = start(job_of("victim", ""));
  until([&] { return victims->done(); });
  EXPECT_TRUE(*victims->result);
}

TEST_F(IdleReusableSandboxes, GiveTheirPlacesToOtherRunsOfTheirOwner) {
  options.owner_share_percent = 75;
  options.max_sandboxes = 4;
  begin_again();
  for (const char* key : {"a", "b", "c"}) (void)run(job_of("one", key));
  ASSERT_EQ(launcher.alive.size(), 3u);
  const auto other = start(job_of("one", ""));
  until([&] { return other->done(); });
  EXPECT_TRUE(*other->result);
  EXPECT_EQ(run(job_of("one", "c")).reused, 1u) << "the one that was idle for longest made room";
}

TEST_F(IdleReusableSandboxes, OfTheOwnerThatHasMostMakeRoomFirst) {
  options.max_sandboxes = 4;
  begin_again();
  (void)run(job_of("victim", "mine"));
  now += milliseconds(100);
  for (const char* key : {"a", "b", "c"}) (void)run(job_of("hostile", key));
  ASSERT_EQ(launcher.alive.size(), 4u);
  (void)run(job_of("third", "its"));
  EXPECT_EQ(run(job_of("victim", "mine")).reused, 1u);
}

// Runs that share an interpreter.
class SharedInterpretersTest : public ReusableSandboxesTest {
 protected:
  static RunJob sharing(std::string call = "a call") {
    RunJob job = reusing();
    job.shares_interpreter = true;
    job.call = std::move(call);
    return job;
  }
};

TEST_F(SharedInterpretersTest, RunsShareOneRuntimeOneAfterTheOther) {
  launcher.script.out = "said\n";
  std::set<std::string> sandboxes;
  for (int i = 0; i < 10; ++i) {
    const auto call = finish(sharing("call " + std::to_string(i)));
    settle();
    ASSERT_TRUE(*call->result) << call->result->error().message();
    const RunReport& report = **call->result;
    EXPECT_EQ(report.outcome.exit_code, 0);
    EXPECT_TRUE(report.warm);
    EXPECT_EQ(call->sink.out, "said\n") << i;
    sandboxes.insert(report.sandbox);
  }
  EXPECT_LE(sandboxes.size(), 2u);
  EXPECT_EQ(launcher.jobs.size(), sandboxes.size()) << "the code is sent once";
  EXPECT_EQ(launcher.kept_runtimes.size(), 10u);
  ASSERT_EQ(launcher.shared_calls.size(), 10u);
  EXPECT_EQ(launcher.shared_calls[9], "call 9");
  EXPECT_TRUE(launcher.recycled.empty());
  EXPECT_EQ(launcher.destroyed, 0);
}

TEST_F(SharedInterpretersTest, ASandboxInWhichSomethingIsLeftIsDestroyed) {
  launcher.left = "a process";
  const RunReport first = run(sharing());
  settle();
  EXPECT_FALSE(launcher.alive.contains(first.sandbox));
  launcher.left.clear();
  EXPECT_EQ(run(sharing()).reused, 0u);
}

TEST_F(SharedInterpretersTest, ASandboxThatTheLauncherDoesNotKeepIsReplaced) {
  launcher.refuses_recycling = wire::SandboxRefused{0, Errc::kConflict, 0, "out of memory"};
  const RunReport first = run(sharing());
  EXPECT_EQ(first.outcome.exit_code, 0);
  EXPECT_EQ(run(sharing()).reused, 0u);
}

TEST_F(SharedInterpretersTest, AnInterpreterThatDoesNotTakeItsCallIsReplacedAndTheCallRepeated) {
  const RunReport first = run(sharing());
  launcher.script.hangs = true;
  const auto call = start(sharing());
  settle();
  launcher.script.hangs = false;
  now += seconds(2);
  until([&] { return call->done(); });
  ASSERT_TRUE(*call->result) << call->result->error().message();
  EXPECT_NE((*call->result)->sandbox, first.sandbox);
  EXPECT_FALSE((*call->result)->reused);
  settle();
  EXPECT_FALSE(launcher.alive.contains(first.sandbox));
}

TEST_F(SharedInterpretersTest, AnIdleInterpreterKeepsItsWholeMemoryCharged) {
  const std::uint64_t before = node->figures().memory_committed_bytes;
  RunJob job = sharing();
  const std::uint64_t whole = job.limits.memory_bytes + job.limits.disk_bytes;
  (void)run(std::move(job));
  settle();
  EXPECT_GE(node->figures().memory_committed_bytes - before, whole);
}

TEST_F(SharedInterpretersTest, IdleInterpretersOfAnOwnerGiveWayToItsOtherRuns) {
  options.max_memory_bytes = 4ull << 30;
  options.owner_share_percent = 75;
  node.reset();
  begin({status_of("python", RuntimeKind::kPython, 0, 4)});
  for (int i = 0; i < 12; ++i) {
    RunJob job = sharing();
    job.reuse = "code " + std::to_string(i);
    job.owner = "one";
    EXPECT_EQ(run(std::move(job)).reused, 0u) << "each has the whole memory of a run";
  }
}

TEST_F(SharedInterpretersTest, ACancelledRunTakesItsInterpreterWithIt) {
  const RunReport first = run(sharing());
  launcher.script.hangs = true;
  const auto call = start(sharing());
  settle();
  call->cancel->cancel();
  until([&] { return call->done(); });
  settle();
  EXPECT_FALSE(launcher.alive.contains(first.sandbox));
}

TEST_F(ReusableSandboxesTest, RunsThatTakeLongGetMoreSandboxes) {
  launcher.script.hangs = true;
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(start(reusing()));
  settle();
  for (int i = 0; i < 6; ++i) {
    now += milliseconds(20);
    settle();
    settle();
  }
  until([&] { return launcher.taken.size() == 6; });
  for (const auto& call : calls) call->cancel->cancel();
  for (const auto& call : calls) until([&] { return call->done(); });
}

}  // namespace
}  // namespace glovebox::node
