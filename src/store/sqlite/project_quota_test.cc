// What a project may keep that is not removed early, and that no other project pays for it.
#include "store/sqlite/project_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sqlite/schema.h"
#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

using ::testing::HasSubstr;

class Quota : public StoreTest {
 protected:
  Quota() { options_.retention.max_project_bytes = 400'000; }

  // How many idempotent requests the project can add and finish, at most `most`.
  int add_requests(const std::string& project, std::size_t answer_bytes, int most) {
    for (int i = 0; i < most; ++i) {
      const std::string key = "k" + std::to_string(i);
      const Result<IdempotentEntry> entry = begin(key, "body", project);
      if (!entry) {
        EXPECT_TRUE(is_over_quota(entry.error())) << entry.error().message();
        return i;
      }
      EXPECT_TRUE(finish(key, std::string(answer_bytes, 'x'), project));
    }
    return most;
  }
};

TEST_F(Quota, IdempotentRequestsAreRefusedBeyondItAndNoneIsForgotten) {
  open();
  const int added = add_requests("hostile", 5000, 1000);
  EXPECT_GT(added, 60);
  EXPECT_LT(added, 80);
  const Result<IdempotentEntry> refused = begin("new", "body", "hostile");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("store.project_quota"));
  ASSERT_TRUE(gc());
  for (int i = 0; i < added; ++i) {
    const IdempotentEntry known = begin("k" + std::to_string(i), "body", "hostile").value();
    EXPECT_EQ(known.state, IdempotentState::kDone);
    EXPECT_EQ(known.answer.size(), 5000u);
  }
  EXPECT_EQ(begin("new", "body", "victim").value().state, IdempotentState::kFresh);
  EXPECT_TRUE(store_->health().ok);  // that is the project's matter
}

TEST_F(Quota, ItsOwnRunsMakeRoomForItsRequests) {
  open();
  for (int i = 0; i < 100; ++i) {
    RunRecord run = run_of("default");
    run.out = std::string(10'000, 'x');
    add(std::move(run));
  }
  ASSERT_TRUE(flush());
  EXPECT_GT(add_requests("default", 5000, 1000), 60);
  ASSERT_TRUE(gc());
  EXPECT_EQ(begin("k0", "body").value().answer.size(), 5000u);
  EXPECT_EQ(store_->health().runs, 0u);
}

TEST_F(Quota, OneOfTheTwoLimitsIsEnough) {
  options_.retention.max_disk_bytes = 0;
  options_.retention.max_project_bytes = 0;
  open();
  EXPECT_TRUE(begin("none", "body"));
  options_.retention.max_disk_bytes = 64'000'000;
  open();
  EXPECT_TRUE(begin("disk", "body"));
}

TEST_F(Quota, IsUsedToItsLastByte) {
  open();
  store_.reset();
  Database db = std::move(open_database(options_.directory).value());
  ProjectUsageTable usages(db);
  ProjectQuota of_project(usages, 1000, 0);
  EXPECT_TRUE(of_project.admit("one", 1000));
  EXPECT_FALSE(of_project.admit("one", 1001));
  // Half of the disk is for all promises together, and this project is alone.
  ProjectQuota of_disk(usages, 0, 4000);
  EXPECT_TRUE(of_disk.admit("one", 2000));
  EXPECT_FALSE(of_disk.admit("one", 2001));
  ProjectQuota none(usages, 0, 0);
  EXPECT_TRUE(none.admit("one", UINT64_MAX / 2));
  EXPECT_EQ(of_project.answer_reserve(), 1000u / 64);
  EXPECT_EQ(ProjectQuota(usages, 1u << 30, 0).answer_reserve(), 256u << 10);
}

TEST(FairShare, WhatTheSmallOnesLeaveIsForTheOthers) {
  EXPECT_EQ(fair_share(100, {}), 100u);
  EXPECT_EQ(fair_share(100, {1000}), 100u);
  EXPECT_EQ(fair_share(100, {1000, 1000}), 50u);
  EXPECT_EQ(fair_share(100, {10, 1000, 20}), 70u);
  EXPECT_EQ(fair_share(100, {10, 60, 1000}), 45u);
  EXPECT_EQ(fair_share(100, {0, 0, 0, 30, 1000}), 70u);
}

// One project fills the store's half for promises, with answers that are even left out because they
// do not fit. Another that has little may still add, however many idle projects there are.
TEST_F(Quota, AFullStoreLeavesASmallProjectRoomBesideAGreedyOne) {
  options_.retention.max_disk_bytes = 2'000'000;
  options_.retention.max_project_bytes = 900'000;
  open();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(add_requests("idle" + std::to_string(i), 100, 1), 1);
  }
  ASSERT_EQ(add_requests("victim", 5000, 30), 30);
  for (const char* key : {"x", "y", "z"}) ASSERT_TRUE(begin(key, "body", "greedy"));
  for (const char* key : {"x", "y", "z"}) {
    ASSERT_TRUE(finish(key, std::string(800'000, 'x'), "greedy"));
  }
  EXPECT_FALSE(begin("more", "body", "greedy"));
  EXPECT_TRUE(begin("more", "body", "victim"));
}

TEST_F(Quota, AnAnswerThatDoesNotFitIsLeftOutAndTheRequestIsKnown) {
  open();
  ASSERT_TRUE(begin("big", "body"));
  ASSERT_TRUE(finish("big", std::string(300'000, 'x')));
  ASSERT_TRUE(begin("bigger", "body"));
  ASSERT_TRUE(finish("bigger", std::string(300'000, 'x')));
  EXPECT_FALSE(begin("big", "body").value().answer_cut);
  const IdempotentEntry cut = begin("bigger", "body").value();
  EXPECT_EQ(cut.state, IdempotentState::kDone);
  EXPECT_TRUE(cut.answer_cut);
  // It counts: the next one is refused, and does not run for an answer that the caller could not
  // get again.
  const Result<IdempotentEntry> next = begin("next", "body");
  ASSERT_FALSE(next);
  EXPECT_TRUE(is_over_quota(next.error()));
}

TEST_F(Quota, RunningRequestsReserveRoomForTheirAnswersAndGiveItBack) {
  open();
  int running = 0;
  while (running < 1000 && begin("r" + std::to_string(running), "body")) ++running;
  EXPECT_GT(running, 50);
  EXPECT_LT(running, 64);
  // As long as the reserve, each of them: all are kept.
  for (int i = 0; i < running; ++i) {
    ASSERT_TRUE(finish("r" + std::to_string(i), std::string(400'000 / 64, 'x')));
    EXPECT_FALSE(begin("r" + std::to_string(i), "body").value().answer_cut);
  }
  EXPECT_FALSE(begin("new", "body"));

  int other = 0;
  while (other < 1000 && begin("r" + std::to_string(other), "body", "other")) ++other;
  open();  // they are interrupted, and no answer will come
  EXPECT_TRUE(begin("new", "body", "other"));
}

TEST_F(Quota, SessionsAreRefusedBeyondItUntilOthersEnd) {
  open();
  std::vector<SessionRecord> living;
  Result<SessionRecord> added = fail(Errc::kInternal, "none yet");
  while (living.size() < 100) {
    SessionRecord session = session_of("hostile");
    session.env = {"BIG=" + std::string(56'000, 'e')};
    added = add_session(std::move(session));
    if (!added) break;
    living.push_back(*added);
  }
  ASSERT_FALSE(added);
  EXPECT_TRUE(is_over_quota(added.error()));
  EXPECT_EQ(living.size(), 7u);
  EXPECT_TRUE(add_session(session_of("victim")));

  // Longer metadata neither; what it has stays.
  SessionRecord changed = living[0];
  for (int i = 0; i < 60; ++i) changed.metadata["k" + std::to_string(i)] = std::string(4000, 'm');
  const Result<> grown = save(changed);
  ASSERT_FALSE(grown);
  EXPECT_TRUE(is_over_quota(grown.error()));
  EXPECT_EQ(find_session("hostile", living[0].id)->metadata, living[0].metadata);
  // A change of state is never refused.
  living[0].state = SessionState::kPaused;
  living[0].reason = std::string(500, 'r');
  EXPECT_TRUE(save(living[0]));
  living[0].state = SessionState::kStopped;
  EXPECT_TRUE(save(living[0]));
  EXPECT_TRUE(add_session(session_of("hostile")));
}

TEST_F(Quota, ALongerNetworkPolicyIsRefusedBeyondItAndAShortOneNever) {
  open();
  SessionRecord session = add_session(session_of("hostile")).value();
  session.net = std::string(300'000, 'n');
  EXPECT_TRUE(save(session));
  SessionRecord other = add_session(session_of("hostile")).value();
  SessionRecord changed = other;
  changed.net = std::string(300'000, 'n');
  const Result<> grown = save(changed);
  ASSERT_FALSE(grown);
  EXPECT_TRUE(is_over_quota(grown.error()));
  EXPECT_EQ(find_session("hostile", other.id)->net, other.net);
  while (add_session(session_of("hostile"))) {
  }
  other.net = std::string(200, 'n');
  EXPECT_TRUE(save(other));
  session.net.clear();
  EXPECT_TRUE(save(session));
  EXPECT_TRUE(save(changed));
}

TEST_F(Quota, TemplatesAndSnapshotsAreRefusedBeyondIt) {
  open();
  int templates = 0;
  Result<> added;
  for (; templates < 1000; ++templates) {
    TemplateRecord made{.project = "hostile", .name = "t" + std::to_string(templates)};
    made.definition.id = "tmhostile" + std::to_string(templates);
    made.definition.env = {"BIG=" + std::string(50'000, 'e')};
    added = answer_of<void>([&](auto done) { store_->add_template(made, done); });
    if (!added) break;
  }
  ASSERT_FALSE(added);
  EXPECT_TRUE(is_over_quota(added.error()));
  EXPECT_EQ(templates, 7);
  int snapshots = 0;
  for (; snapshots < 1000; ++snapshots) {
    const SnapshotRecord made{.project = "hostile", .template_name = "base"};
    added = answer_of<void>([&](auto done) { store_->add_snapshot(made, done); });
    if (!added) break;
  }
  ASSERT_FALSE(added);
  EXPECT_TRUE(is_over_quota(added.error()));
  EXPECT_LT(snapshots, 100);
  const SnapshotRecord small{.project = "victim", .template_name = "base"};
  EXPECT_TRUE(answer_of<void>([&](auto done) { store_->add_snapshot(small, done); }));
}

TEST_F(Quota, ManyProjectsTogetherAreHeldToEqualShares) {
  options_.retention.max_disk_bytes = 2'000'000;
  options_.retention.max_project_bytes = 900'000;
  open();
  EXPECT_GT(add_requests("first", 20'000, 1000), 35);
  // The half of the ceiling is used up; each new project has its share all the same.
  EXPECT_GT(add_requests("second", 20'000, 1000), 15);
  EXPECT_GT(add_requests("third", 20'000, 1000), 10);
  const Result<IdempotentEntry> refused = begin("new", "body", "second");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("has its share of it"));
  ASSERT_TRUE(gc());
  EXPECT_LE(store_->bytes_used(), 2'200'000u);
  EXPECT_EQ(begin("k0", "body", "first").value().answer.size(), 20'000u);
}

TEST_F(Quota, WithoutLimitsNothingIsRefused) {
  options_.retention.max_disk_bytes = 0;
  options_.retention.max_project_bytes = 0;
  open();
  EXPECT_EQ(add_requests("one", 100'000, 50), 50);
}

TEST(Retention, TheQuotaIsAQuarterOfTheCeiling) {
  EXPECT_EQ((Retention{.max_disk_bytes = 4000}).project_quota(), 1000u);
  EXPECT_EQ((Retention{.max_disk_bytes = 4000, .max_project_bytes = 3000}).project_quota(), 3000u);
  EXPECT_EQ((Retention{.max_disk_bytes = 0}).project_quota(), 0u);
}

}  // namespace
}  // namespace glovebox::store
