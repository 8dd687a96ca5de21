// Tests of what demand does to pools: how large they get, what is made in a hurry, and that a busy
// host makes runs wait and not cold.
#include "node/testing/node_fixture.h"

namespace glovebox::node {
namespace {

using PoolDemandTest = NodeTest;

TEST_F(PoolDemandTest, RuntimesRehearseUnlessRunsWaitForThem) {
  begin({status_of("python", RuntimeKind::kPython, 4, 4)});
  fill("python", 4);
  EXPECT_EQ(launcher.created, 4);
  EXPECT_EQ(launcher.created_in_hurry, 0) << "no run was there";
  // One run at a time, with pauses: each replacement is made in one.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(*finish(python())->result);
    fill("python", 4);
  }
  EXPECT_EQ(launcher.created, 7);
  EXPECT_EQ(launcher.created_in_hurry, 0);
  // More at once than there are: what is made for them does not rehearse.
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < 12; ++i) calls.push_back(start(python()));
  for (const auto& call : calls) until([&] { return call->done(); });
  EXPECT_GE(launcher.created_in_hurry, 8);
  // Afterwards they do again.
  fill("python", 4);
  const int before = launcher.created_in_hurry;
  ASSERT_TRUE(*finish(python())->result);
  fill("python", 4);
  EXPECT_EQ(launcher.created_in_hurry, before);
  // A run whose sandbox is made for it alone waits for it.
  RunJob mounting = python();
  mounting.mounts.push_back({MountMode::kReadOnly, GuestPath::parse("/data").value(), "data"});
  ASSERT_TRUE(*finish(std::move(mounting))->result);
  EXPECT_EQ(launcher.created_in_hurry, before + 1);
}

TEST_F(PoolDemandTest, ASlowHostDoesNotMakeRunsCold) {
  options.max_creates = 4;
  begin({status_of("python", RuntimeKind::kPython, 0, 8)});
  launcher.holds_warm = true;
  RunJob mounting = python();
  mounting.mounts.push_back({MountMode::kReadOnly, GuestPath::parse("/data").value(), "data"});
  std::vector<std::shared_ptr<Call>> calls = {start(std::move(mounting))};
  for (int i = 0; i < 8; ++i) calls.push_back(start(python()));
  settle();
  // Each takes longer than a stuck runtime would be waited for, but one comes now and then.
  for (int i = 0; i < 8; ++i) {
    now += milliseconds(700);
    launcher.release_one();
    settle();
  }
  launcher.holds_warm = false;
  launcher.release_creates();
  for (const auto& call : calls) {
    until([&] { return call->done(); });
    ASSERT_TRUE(*call->result) << call->result->error().message();
    EXPECT_TRUE((*call->result)->warm);
  }
  EXPECT_EQ(launcher.created_warm, launcher.created);
}

TEST_F(PoolDemandTest, ALauncherThatAnswersNothingDoesNotMakeRunsCold) {
  begin({status_of("python", RuntimeKind::kPython, 0, 8)});
  launcher.holds_creates = true;
  launcher.holds_measures = true;
  const auto call = start(python());
  settle();
  now += milliseconds(2000);
  settle();
  EXPECT_FALSE(call->done());
  launcher.holds_creates = false;
  launcher.release_creates();
  until([&] { return call->done(); });
  ASSERT_TRUE(*call->result);
  EXPECT_TRUE((*call->result)->warm);
  EXPECT_EQ(launcher.created_warm, launcher.created);
}

TEST_F(PoolDemandTest, ASandboxThatFailsIsTriedAgainBeforeARunGoesCold) {
  begin({status_of("python", RuntimeKind::kPython, 0, 4)});
  for (const Errc code : {Errc::kUnavailable, Errc::kTimeout}) {
    launcher.refuses_once = 2;
    launcher.refusal_once = wire::SandboxRefused{0, code, 0, "did not arrive in time"};
    const auto call = finish(python());
    ASSERT_TRUE(*call->result) << call->result->error().message();
    EXPECT_TRUE((*call->result)->warm);
    RunJob mounting = python();
    mounting.mounts.push_back({MountMode::kReadOnly, GuestPath::parse("/data").value(), "data"});
    launcher.refuses_once = 2;
    const auto alone = finish(std::move(mounting));
    ASSERT_TRUE(*alone->result) << alone->result->error().message();
    EXPECT_TRUE((*alone->result)->warm);
  }
}

TEST_F(PoolDemandTest, ABurstIsAnsweredWarmAndTheNextOneFindsItsSandboxes) {
  begin({status_of("python", RuntimeKind::kPython, 2, 128)});
  fill("python", 2);
  const auto burst = [&] {
    std::vector<std::shared_ptr<Call>> calls;
    for (int i = 0; i < 100; ++i) calls.push_back(start(python()));
    for (const auto& call : calls) {
      until([&] { return call->done(); });
      ASSERT_TRUE(*call->result) << call->result->error().message();
      EXPECT_TRUE((*call->result)->warm);
    }
  };
  burst();
  const std::uint32_t target = pool("python").target;
  EXPECT_GE(target, 90u);
  EXPECT_LE(target, 101u);
  fill("python", target);
  const std::uint64_t missed = pool("python").misses;
  burst();
  EXPECT_LE(pool("python").misses, missed + 10);
}

TEST_F(PoolDemandTest, WaitingSandboxesHaveAQuarterOfTheMemory) {
  options.max_memory_bytes = 80 * options.waiting_memory_bytes;
  begin({status_of("python", RuntimeKind::kPython, 2, 128)});
  std::vector<std::shared_ptr<Call>> calls;
  RunJob job = python();
  job.limits.memory_bytes = job.limits.disk_bytes = 1u << 20;
  for (int i = 0; i < 60; ++i) calls.push_back(start(job));
  for (const auto& call : calls) until([&] { return call->done(); });
  EXPECT_GT(pool("python").target, 40u);
  fill("python", 20);
  settle();
  EXPECT_EQ(pool("python").idle, 20u);
}

TEST_F(PoolDemandTest, APoolShrinksWhenTheHostIsShortOfMemory) {
  HostSample sample{.stalled_percent = 0.0, .total_bytes = 32u << 20, .available_bytes = 16u << 20};
  options.host_sample = [&sample] { return sample; };
  begin({status_of("python", RuntimeKind::kPython, 1, 16)});
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < 16; ++i) calls.push_back(start(python()));
  for (const auto& call : calls) until([&] { return call->done(); });
  until([&] { return pool("python").idle > 8; });
  sample.available_bytes = 100;
  now += seconds(1);
  until([&] { return pool("python").idle == 1; });
}

}  // namespace
}  // namespace glovebox::node
