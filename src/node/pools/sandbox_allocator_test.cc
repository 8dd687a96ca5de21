// Tests of who gets which sandbox, through a whole node.
#include "node/testing/node_fixture.h"

namespace glovebox::node {
namespace {

using SandboxAllocatorTest = NodeTest;

TEST_F(SandboxAllocatorTest, NoSandboxIsEverUsedTwice) {
  begin({status_of("python", RuntimeKind::kPython, 2, 8)});
  std::set<std::string> seen;
  for (int round = 0; round < 10; ++round) {
    std::vector<std::shared_ptr<Call>> calls;
    for (int i = 0; i < 10; ++i) calls.push_back(start(python()));
    for (const auto& call : calls) {
      until([&] { return call->done(); });
      ASSERT_TRUE(*call->result);
      EXPECT_TRUE(seen.insert((*call->result)->sandbox).second);
    }
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(std::set(launcher.taken.begin(), launcher.taken.end()).size(), launcher.taken.size());
  EXPECT_FALSE(launcher.reused);
  EXPECT_LE(launcher.most_creates_at_once, 2u);
  EXPECT_GT(pool("python").misses, 0u);
  EXPECT_EQ(pool("python").target, 8u);  // grown
}

TEST_F(SandboxAllocatorTest, APoolShrinksWithoutDemand) {
  begin({status_of("python", RuntimeKind::kPython, 1, 8)});
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(start(python()));
  for (const auto& call : calls) until([&] { return call->done(); });
  fill("python", 8);
  now += seconds(31);
  fill("python", 1);
  until([&] { return launcher.alive.size() == 1; });
}

TEST_F(SandboxAllocatorTest, SandboxesThatWaitedLongAreRenewed) {
  begin({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  const std::string old = *launcher.alive.begin();
  now += seconds(601);
  until([&] { return launcher.alive.size() == 1 && !launcher.alive.contains(old); });
}

TEST_F(SandboxAllocatorTest, ANewGenerationReplacesWhatWaits) {
  begin({status_of("python", RuntimeKind::kPython, 2, 4)});
  fill("python", 2);
  const std::set<std::string> old = launcher.alive;
  TemplateStatus next = known[0];
  next.generation = launcher.generation = 2;
  launcher.tell(next);
  until([&] { return launcher.created == 4 && launcher.alive.size() == 2; });
  for (const std::string& id : old) EXPECT_FALSE(launcher.alive.contains(id));
  const auto call = finish(python());
  ASSERT_TRUE(*call->result);
  EXPECT_FALSE(old.contains((*call->result)->sandbox));
}

TEST_F(SandboxAllocatorTest, AnIdleSandboxThatDiedIsNotHandedOut) {
  begin({status_of("python", RuntimeKind::kPython, 2, 2)});
  fill("python", 2);
  const std::string dead = *launcher.alive.begin();
  launcher.end(dead, EndReason::kAgentKilled);
  until([&] { return launcher.created == 3; });
  for (int i = 0; i < 4; ++i) {
    const auto call = finish(python());
    ASSERT_TRUE(*call->result);
    EXPECT_NE((*call->result)->sandbox, dead);
  }
}

TEST_F(SandboxAllocatorTest, WhenTheRuntimeIsNotReadyTheRunGoesCold) {
  begin({status_of("python", RuntimeKind::kPython, 0, 4)});
  launcher.warm_not_ready = true;
  launcher.script.out = "cold\n";
  const auto call = finish(python());
  ASSERT_TRUE(*call->result) << call->result->error().message();
  EXPECT_FALSE((*call->result)->warm);
  EXPECT_EQ(call->sink.out, "cold\n");
  EXPECT_EQ(launcher.created_warm, 0);
}

TEST_F(SandboxAllocatorTest, AStuckRuntimeDoesNotHoldUpOtherRuns) {
  begin({status_of("python", RuntimeKind::kPython, 0, 8),
         status_of("base", RuntimeKind::kNone, 0, 4)});
  launcher.holds_warm = true;
  RunJob mounting = python();
  mounting.mounts.push_back({MountMode::kReadOnly, GuestPath::parse("/data").value(), "data"});
  std::vector<std::shared_ptr<Call>> calls = {start(python()), start(std::move(mounting)),
                                              start(python()), start(shell())};
  settle();
  EXPECT_EQ(launcher.created, 0);  // both places for makings are taken by those that do not come
  now += milliseconds(1001);
  for (const auto& call : calls) {
    until([&] { return call->done(); });
    ASSERT_TRUE(*call->result) << call->result->error().message();
    EXPECT_FALSE((*call->result)->warm);
  }
  EXPECT_EQ(launcher.created_warm, 0);
  // What arrives late goes to the pool or is dropped; nothing is counted twice.
  launcher.holds_warm = false;
  launcher.release_creates();
  now += seconds(1);
  const auto later = finish(python());
  ASSERT_TRUE(*later->result) << later->result->error().message();
  EXPECT_TRUE((*later->result)->warm);
  EXPECT_FALSE(launcher.reused);
}

TEST_F(SandboxAllocatorTest, ARuntimeThatCouldNotBePreparedIsAskedForAgain) {
  TemplateStatus idle = status_of("python", RuntimeKind::kPython, 1, 4);
  idle.state = RuntimeState::kIdle;
  begin({idle});
  until([&] { return launcher.prepared == 1; });
  ASSERT_TRUE(*finish(python())->result);
  EXPECT_EQ(launcher.prepared, 1);
  now += milliseconds(5001);
  ASSERT_TRUE(*finish(python())->result);
  until([&] { return launcher.prepared == 2; });
}

TEST_F(SandboxAllocatorTest, ARunWithMountsAndAColdOneHaveTheirOwn) {
  begin({status_of("python", RuntimeKind::kPython, 1, 4)});
  fill("python", 1);
  RunJob job = python();
  job.mounts.push_back({MountMode::kReadOnly, GuestPath::parse("/data").value(), "data"});
  const auto with_mounts = finish(std::move(job));
  ASSERT_TRUE(*with_mounts->result);
  EXPECT_TRUE((*with_mounts->result)->warm);
  RunJob cold = python();
  cold.cold = true;
  const auto second = finish(std::move(cold));
  ASSERT_TRUE(*second->result);
  EXPECT_FALSE((*second->result)->warm);
  EXPECT_TRUE(launcher.taken.empty());
  EXPECT_EQ(launcher.created, 3);
  EXPECT_EQ(launcher.created_waiting, 1);
}

TEST_F(SandboxAllocatorTest, TemplatesThatAreNotThereAreNotFound) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  RunJob job = python();
  const auto early = start(std::move(job));
  settle();
  EXPECT_FALSE(early->done());  // its launcher may not have told of it yet
  now += seconds(2);
  until([&] { return early->done(); });
  EXPECT_EQ(early->result->error().code(), Errc::kNotFound);
  RunJob code = python();
  code.template_name = "base";
  EXPECT_EQ(finish(std::move(code))->result->error().code(), Errc::kInvalidArgument);
}

TEST_F(SandboxAllocatorTest, WhenFullRunsWaitInTurnsAndThenAreRefused) {
  options.max_sandboxes = 2;
  options.max_queue_per_owner = 50;
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script.hangs = true;
  std::vector<std::shared_ptr<Call>> many;
  for (int i = 0; i < 40; ++i) {
    RunJob job = shell();
    job.owner = "many";
    many.push_back(start(std::move(job)));
  }
  until([&] { return launcher.alive.size() == 2; });
  RunJob job = shell();
  job.owner = "one";
  const auto one = start(std::move(job));
  settle();
  EXPECT_EQ(node->figures().queued, 39u);
  launcher.script.hangs = false;
  // Two places become free: one for each owner.
  many[0]->cancel->cancel();
  many[1]->cancel->cancel();
  until([&] { return one->done(); });
  EXPECT_TRUE(*one->result);
  int others = 0;
  for (const auto& call : many) others += call->done() ? 1 : 0;
  EXPECT_LE(others, 6);  // not all of them before it
  for (const auto& call : many) until([&] { return call->done(); });
}

TEST_F(SandboxAllocatorTest, TheQueueHasAnEndInLengthAndInTime) {
  options.max_sandboxes = 1;
  options.max_queue_per_owner = 2;
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script.hangs = true;
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(start(shell()));
    settle();
  }
  until([&] { return calls[3]->done(); });
  EXPECT_EQ(calls[3]->result->error().code(), Errc::kResourceExhausted);
  EXPECT_FALSE(calls[1]->done());
  now += seconds(11);
  until([&] { return calls[1]->done() && calls[2]->done(); });
  EXPECT_EQ(calls[1]->result->error().code(), Errc::kResourceExhausted);
  EXPECT_FALSE(calls[0]->done());
}

TEST_F(SandboxAllocatorTest, OneOwnerHasAtMostAQuarterOfTheQueue) {
  options.max_sandboxes = 1;
  options.max_queue = 8;
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script.hangs = true;
  const auto start_for = [&](const char* owner) {
    RunJob job = shell();
    job.owner = owner;
    auto call = start(std::move(job));
    settle();
    return call;
  };
  std::vector<std::shared_ptr<Call>> many;
  for (int i = 0; i < 4; ++i) many.push_back(start_for("many"));
  EXPECT_FALSE(many[2]->done());
  ASSERT_TRUE(many[3]->done());
  EXPECT_EQ(many[3]->result->error().code(), Errc::kResourceExhausted);
  EXPECT_FALSE(start_for("one")->done());
}

TEST_F(SandboxAllocatorTest, OneOwnerLeavesRoomForAnother) {
  for (const bool by_memory : {false, true}) {
    SCOPED_TRACE(by_memory ? "memory" : "sandboxes");
    RunJob job = shell();
    options.owner_share_percent = 75;
    options.max_sandboxes = by_memory ? 512 : 4;
    options.max_memory_bytes =
        by_memory ? 4 * (job.limits.memory_bytes + job.limits.disk_bytes) : 64ull << 30;
    begin({status_of("base", RuntimeKind::kNone, 0, 0)});
    launcher.script = {.out = "begun\n", .hangs = true};
    const auto has_begun = [](const auto& call) { return !call->sink.out.empty(); };
    std::vector<std::shared_ptr<Call>> many;
    job.owner = "many";
    for (int i = 0; i < 8; ++i) many.push_back(start(job));
    until([&] { return std::count_if(many.begin(), many.end(), has_begun) == 3; });
    settle();
    EXPECT_EQ(std::count_if(many.begin(), many.end(), has_begun), 3) << "and no other waits";
    job.owner = "one";
    const auto other = start(job);
    until([&] { return has_begun(other); });
    for (const auto& call : many) call->cancel->cancel();
    other->cancel->cancel();
    until([&] { return launcher.alive.empty(); });
    node.reset();
    settle();
  }
}

TEST_F(SandboxAllocatorTest, WhoHoldsMoreThanHalfGetsNoMoreWhileAnotherWaits) {
  for (const bool by_memory : {false, true}) {
    SCOPED_TRACE(by_memory ? "memory" : "sandboxes");
    RunJob job = shell();
    options.max_sandboxes = by_memory ? 512 : 4;
    options.max_memory_bytes =
        by_memory ? 4 * (job.limits.memory_bytes + job.limits.disk_bytes) : 64ull << 30;
    begin({status_of("base", RuntimeKind::kNone, 0, 0)});
    launcher.script = {.out = "begun\n", .hangs = true};
    std::vector<std::shared_ptr<Call>> many, others;
    job.owner = "many";
    for (int i = 0; i < 8; ++i) many.push_back(start(job));
    const auto begun = [](const std::vector<std::shared_ptr<Call>>& calls) {
      return std::count_if(calls.begin(), calls.end(),
                           [](const auto& call) { return !call->sink.out.empty(); });
    };
    until([&] { return begun(many) == 4; });  // no other owner waits: all of it
    job.owner = "one";
    for (int i = 0; i < 3; ++i) others.push_back(start(job));
    settle();
    // In turns the first two places would be one for each.
    many[0]->cancel->cancel();
    until([&] { return begun(others) == 1; });
    many[1]->cancel->cancel();
    until([&] { return begun(many) + begun(others) == 6; });
    EXPECT_GE(begun(others), 1);
    EXPECT_LE(begun(many), 5);
    for (const auto& call : many) call->cancel->cancel();
    until([&] { return begun(others) == 3; });
    for (const auto& call : others) call->cancel->cancel();
    until([&] { return launcher.alive.empty(); });
    node.reset();
    settle();
  }
}

TEST_F(SandboxAllocatorTest, RunsGetNoMoreProcessesThanThereAreForThem) {
  launcher.host.pids_limit = 8192;  // a half is for runs
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  until([&] { return node->figures().host.pids_limit == 8192; });
  launcher.script.hangs = true;
  RunJob job = shell();
  job.limits.pids = 500;
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < 9; ++i) calls.push_back(start(job));
  until([&] { return launcher.alive.size() == 8; });
  settle();
  EXPECT_EQ(launcher.alive.size(), 8u);
  now += seconds(11);
  until([&] { return calls[8]->done(); });
  EXPECT_EQ(calls[8]->result->error().code(), Errc::kResourceExhausted);
  EXPECT_THAT(calls[8]->result->error().message(), HasSubstr("processes"));
  for (const auto& call : calls) call->cancel->cancel();
}

TEST_F(SandboxAllocatorTest, AnOwnerWithManyPoolsLeavesPlacesToOthers) {
  options.max_pools = 3;
  std::vector<TemplateStatus> templates;
  for (const char* name : {"t0", "t1", "t2", "t3", "t4"}) {
    templates.push_back(status_of(name, RuntimeKind::kNone, 0, 4));
  }
  begin(std::move(templates));
  const auto run_in = [this](const std::string& name, const std::string& owner) {
    RunJob job = shell();
    job.template_name = name;
    job.owner = owner;
    EXPECT_TRUE(*finish(job)->result);
    now += milliseconds(10);
  };
  for (const std::string name : {"t0", "t1", "t2"}) {
    run_in(name, "hostile");
    until([&] { return pool(name).idle > 0 && pool(name).making == 0; });
  }
  run_in("t3", "victim");
  EXPECT_EQ(pool("t3").template_name, "t3");
  EXPECT_EQ(pool("t0").template_name, "") << "the one that was not used for longest";
  until([&] { return pool("t3").idle > 0 && pool("t3").making == 0; });
  // Two and one: no owner has many more than another.
  run_in("t4", "victim");
  EXPECT_EQ(pool("t4").template_name, "");
}

TEST_F(SandboxAllocatorTest, AFullHostAdmitsNothingUntilItHasRoom) {
  HostSample sample{.stalled_percent = 0.0, .total_bytes = 32u << 20, .available_bytes = 100};
  options.host_sample = [&sample] { return sample; };
  begin({status_of("python", RuntimeKind::kPython, 2, 2)});
  const auto refused = start(python());
  const auto later = start(python());
  settle();
  EXPECT_FALSE(refused->done());
  EXPECT_EQ(launcher.created, 0);  // for no pool either
  EXPECT_THAT(node->figures().host.full_reason, HasSubstr("memory left"));
  now += seconds(11);
  until([&] { return refused->done() && later->done(); });
  EXPECT_EQ(refused->result->error().code(), Errc::kResourceExhausted);
  EXPECT_THAT(refused->result->error().message(), HasSubstr("memory left"));
  const auto waits = start(python());
  sample.available_bytes = 16u << 20;
  now += seconds(1);
  until([&] { return waits->done(); });
  EXPECT_TRUE(*waits->result);
  EXPECT_EQ(node->figures().host.full_reason, "");
}

TEST_F(SandboxAllocatorTest, TheLauncherIsToldProjectsApartAndNothingOfWhatWaits) {
  begin({status_of("python", RuntimeKind::kPython, 1, 1),
         status_of("base", RuntimeKind::kNone, 0, 0)});
  fill("python", 1);
  ASSERT_EQ(launcher.tenants, (std::vector<std::uint64_t>{0}));
  RunJob job = shell();
  for (const char* project : {"one", "other", "one"}) {
    job.project = project;
    ASSERT_TRUE(*finish(job)->result);
  }
  std::vector<std::uint64_t> told;
  for (std::size_t i = 0; i < launcher.tenants.size(); ++i) {
    if (launcher.templates[i] == "base") told.push_back(launcher.tenants[i]);
  }
  ASSERT_EQ(told.size(), 3u);
  EXPECT_NE(told[0], 0u);
  EXPECT_NE(told[0], told[1]);
  EXPECT_EQ(told[0], told[2]);
}

TEST_F(SandboxAllocatorTest, MemoryIsGivenOnceAndWaitingSandboxesMakeRoom) {
  options.max_memory_bytes = 2ull << 30;
  begin({status_of("python", RuntimeKind::kPython, 4, 8),
         status_of("base", RuntimeKind::kNone, 0, 0)});
  fill("python", 4);
  EXPECT_EQ(node->figures().memory_committed_bytes, 4 * options.waiting_memory_bytes);
  launcher.script.hangs = true;
  RunJob job = shell();
  job.limits.memory_bytes = (2ull << 30) - (64ull << 20);
  job.limits.disk_bytes = 64ull << 20;
  const auto large = start(job);  // all there is
  until([&] { return node->figures().runs_active == 1; });
  EXPECT_EQ(pool("python").idle, 0u);
  const auto small = start(python());
  settle();
  EXPECT_FALSE(small->done());
  EXPECT_EQ(node->figures().memory_committed_bytes, 2ull << 30);
  launcher.script.hangs = false;
  large->cancel->cancel();
  until([&] { return small->done(); });
  EXPECT_TRUE(*small->result);
  job.limits.memory_bytes = 4ull << 30;
  EXPECT_EQ(finish(job)->result->error().code(), Errc::kPolicy);
}

TEST_F(SandboxAllocatorTest, AFullLauncherIsAskedAgain) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.refuses = wire::SandboxRefused{0, Errc::kResourceExhausted, 0, "no slices are left"};
  const auto call = start(shell());
  settle();
  EXPECT_FALSE(call->done());
  now += seconds(11);
  until([&] { return call->done(); });
  EXPECT_EQ(call->result->error().code(), Errc::kResourceExhausted);
  EXPECT_THAT(call->result->error().message(), HasSubstr("no slices are left"));
  launcher.refuses.reset();
  now += seconds(1);
  EXPECT_TRUE(*finish(shell())->result);
}

TEST_F(SandboxAllocatorTest, WhatTheLauncherRefusesForAReasonIsTheRunsError) {
  begin({status_of("python", RuntimeKind::kPython, 0, 4)});
  launcher.refuses = wire::SandboxRefused{0, Errc::kPolicy, 0, "a ceiling"};
  const auto call = finish(python());
  ASSERT_FALSE(*call->result);
  EXPECT_EQ(call->result->error().code(), Errc::kPolicy);
}

TEST_F(SandboxAllocatorTest, ARemovedTemplateTakesItsPoolAlong) {
  begin({status_of("python", RuntimeKind::kPython, 2, 4)});
  fill("python", 2);
  TemplateStatus gone = known[0];
  gone.state = RuntimeState::kRemoved;
  launcher.tell(gone);
  until([&] { return launcher.alive.empty(); });
  now += seconds(2);
  EXPECT_EQ(finish(python())->result->error().code(), Errc::kNotFound);
}

TEST_F(SandboxAllocatorTest, AnIdleRuntimeIsAskedForOnce) {
  TemplateStatus idle = status_of("python", RuntimeKind::kPython, 1, 4);
  idle.state = RuntimeState::kIdle;
  begin({idle});
  until([&] { return launcher.prepared == 1; });
  EXPECT_FALSE((*finish(python())->result)->warm);
  EXPECT_EQ(launcher.prepared, 1);
  idle.state = RuntimeState::kReady;
  launcher.tell(idle);
  fill("python", pool("python").target);
  EXPECT_TRUE((*finish(python())->result)->warm);
}

}  // namespace
}  // namespace glovebox::node
