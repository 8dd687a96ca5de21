#include <gtest/gtest.h>

#include <atomic>

#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

class RetentionTest : public StoreTest {
 protected:
  RetentionTest() {
    options_.retention = {
        .max_age = std::chrono::seconds(0), .max_runs = 0, .max_run_bytes = 0, .max_disk_bytes = 0};
    options_.clock_ms = [this] { return now_ms_.load(); };
  }
  std::vector<RunId> add_many(int count, std::size_t out_bytes = 10,
                              const std::string& project = "default") {
    std::vector<RunId> ids;
    for (int i = 0; i < count; ++i) {
      RunRecord run = run_of(project);
      run.out = std::string(out_bytes, 'x');
      ids.push_back(add(std::move(run)));
    }
    EXPECT_TRUE(flush());
    return ids;
  }
  std::atomic<std::int64_t> now_ms_{1'700'000'000'000};
};

TEST_F(RetentionTest, WithoutLimitsNothingGoes) {
  open();
  add_many(100);
  now_ms_ += 1000ll * 24 * 3600 * 1000;
  EXPECT_EQ(gc().value().runs, 0u);
  EXPECT_EQ(store_->health().runs, 100u);
}

TEST_F(RetentionTest, ByAgeTheOldOnesGo) {
  options_.retention.max_age = std::chrono::hours(1);
  open();
  const std::vector<RunId> old = add_many(700);  // more than one chunk
  now_ms_ += 3'000'000;
  const std::vector<RunId> young = add_many(5);
  now_ms_ += 700'000;
  ASSERT_TRUE(gc());
  EXPECT_EQ(store_->health().runs, 5u);
  EXPECT_FALSE(get("default", old.back()));
  EXPECT_TRUE(get("default", young.front()));
}

TEST_F(RetentionTest, ByCountTheOldestGo) {
  options_.retention.max_runs = 10;
  open();
  const std::vector<RunId> ids = add_many(25);
  ASSERT_TRUE(gc());
  EXPECT_EQ(store_->health().runs, 10u);
  EXPECT_FALSE(get("default", ids[14]));
  EXPECT_TRUE(get("default", ids[15]));
}

TEST_F(RetentionTest, ByBytesTheOldestGo) {
  options_.retention.max_run_bytes = 100'000;
  open();
  const std::vector<RunId> ids = add_many(20, 10'000);
  ASSERT_TRUE(gc());
  // Each is 10,000 bytes and a few hundred.
  EXPECT_EQ(store_->health().runs, 9u);
  EXPECT_FALSE(get("default", ids[10]));
  EXPECT_TRUE(get("default", ids[11]));
}

TEST_F(RetentionTest, TotalsAreRightAfterAReopen) {
  options_.retention.max_run_bytes = 100'000;
  open();
  add_many(9, 10'000);
  open();
  add_many(1, 10'000);
  ASSERT_TRUE(gc());
  EXPECT_EQ(store_->health().runs, 9u);
}

TEST_F(RetentionTest, IsAppliedWithoutBeingAsked) {
  options_.retention.max_runs = 10;
  open();
  add_many(2000);
  EXPECT_TRUE(eventually([&] {
    add(run_of("default"));  // the tick comes with the work
    return store_->health().runs <= 300 && store_->health().written > 1000;
  }));
}

TEST_F(RetentionTest, TheDiskCeilingHoldsAndTheNewestStay) {
  options_.retention.max_disk_bytes = 2u << 20;
  options_.kept_output_bytes = 16u << 10;
  open();
  std::vector<RunId> ids;
  for (int i = 0; i < 10; ++i) ids = add_many(50, 16'000);  // 8 MB in all
  const GcReport report = gc().value();
  EXPECT_LE(store_->bytes_used(), 2u << 20);
  EXPECT_EQ(report.bytes_after, store_->bytes_used());
  EXPECT_GT(store_->health().runs, 20u);
  EXPECT_TRUE(get("default", ids.back()));
}

// The victims' runs are the oldest everywhere below.
TEST_F(RetentionTest, ByCountTheProjectWithMostLosesRuns) {
  options_.retention.max_runs = 30;
  open();
  const std::vector<RunId> victims = add_many(10, 10, "victim");
  add_many(700, 10, "hostile");
  add_many(8, 10, "other");
  ASSERT_TRUE(gc());
  EXPECT_EQ(store_->health().runs, 30u);
  for (const RunId& id : victims) EXPECT_TRUE(get("victim", id));
  EXPECT_EQ(list("hostile").value().runs.size(), 12u);
  EXPECT_EQ(list("other").value().runs.size(), 8u);
}

TEST_F(RetentionTest, ByBytesTheProjectWithMostLosesRuns) {
  options_.retention.max_run_bytes = 200'000;
  options_.kept_output_bytes = 1u << 20;
  open();
  const std::vector<RunId> victims = add_many(3, 10'000, "victim");
  add_many(9, 150'000, "hostile");
  ASSERT_TRUE(gc());
  for (const RunId& id : victims) EXPECT_TRUE(get("victim", id));
  EXPECT_EQ(list("hostile").value().runs.size(), 1u);
}

TEST_F(RetentionTest, ByTheDiskCeilingTheProjectWithMostLosesRuns) {
  options_.retention.max_disk_bytes = 4u << 20;
  options_.retention.max_project_bytes = 1u << 30;  // so that the ceiling alone decides
  open();
  const std::vector<RunId> victims = add_many(20, 16'000, "victim");
  for (int i = 0; i < 10; ++i) add_many(50, 16'000, "hostile");
  ASSERT_TRUE(gc());
  EXPECT_LE(store_->bytes_used(), 4u << 20);
  for (const RunId& id : victims) EXPECT_TRUE(get("victim", id));
  EXPECT_GT(list("hostile", {.limit = 200}).value().runs.size(), 100u);
}

TEST_F(RetentionTest, BeyondItsQuotaAProjectLosesItsOwnOldest) {
  options_.retention.max_project_bytes = 200'000;
  open();
  const std::vector<RunId> victims = add_many(5, 10'000, "victim");
  const std::vector<RunId> ids = add_many(50, 10'000, "hostile");
  ASSERT_TRUE(gc());
  for (const RunId& id : victims) EXPECT_TRUE(get("victim", id));
  const std::size_t left = list("hostile").value().runs.size();
  EXPECT_GE(left, 18u);
  EXPECT_LE(left, 20u);
  EXPECT_TRUE(get("hostile", ids.back()));
  EXPECT_FALSE(get("hostile", ids.front()));
}

TEST_F(RetentionTest, EndedSessionsCountAgainstTheDiskCeilingAndTheQuota) {
  options_.retention.max_disk_bytes = 2u << 20;
  open();
  const std::vector<RunId> victims = add_many(10, 1000, "victim");
  const SessionRecord living = add_session(session_of("hostile")).value();
  std::vector<SandboxId> ended;
  for (int i = 0; i < 300; ++i) {
    SessionRecord session = session_of("hostile");
    session.env = {"SECRET=" + std::string(56'000, 'e')};
    for (int k = 0; k < 64; ++k) session.metadata["k" + std::to_string(k)] = std::string(60, 'm');
    session = add_session(std::move(session)).value();
    session.state = SessionState::kStopped;
    session.ended_ms = now_ms_++;
    ASSERT_TRUE(save(session));
    ended.push_back(session.id);
  }
  ASSERT_TRUE(gc());
  EXPECT_LE(store_->bytes_used(), 2u << 20);
  EXPECT_FALSE(find_session("hostile", ended.front()));
  EXPECT_TRUE(find_session("hostile", ended.back()));
  for (const RunId& id : victims) EXPECT_TRUE(get("victim", id));
  EXPECT_TRUE(find_session("hostile", living.id));
}

TEST_F(RetentionTest, OfAProjectTheOldestGoFirstOfEitherKind) {
  options_.retention.max_project_bytes = 30'000;
  open();
  const auto end_one = [&](std::size_t bytes) {
    SessionRecord session = session_of("default");
    session.metadata = {{"k", std::string(bytes, 'm')}};
    session = add_session(std::move(session)).value();
    session.state = SessionState::kStopped;
    session.ended_ms = now_ms_;
    EXPECT_TRUE(save(session));
    now_ms_ += 1000;
    return session.id;
  };
  const SandboxId first = end_one(4000);
  const RunId second = add_many(1, 4000).front();
  now_ms_ += 1000;
  const SandboxId third = end_one(4000);
  add_many(2, 10'000);  // all in all, two too many
  ASSERT_TRUE(gc());
  EXPECT_FALSE(find_session("default", first));
  EXPECT_FALSE(get("default", second));
  EXPECT_TRUE(find_session("default", third));
  EXPECT_EQ(store_->health().runs, 2u);
}

TEST_F(RetentionTest, IdempotentRequestsStayForTheirTime) {
  options_.retention.max_disk_bytes = 2u << 20;
  options_.kept_output_bytes = 1u << 20;
  open();
  ASSERT_TRUE(begin("k", "body", "victim"));
  ASSERT_TRUE(finish("k", std::string(50'000, 'v'), "victim"));
  for (int i = 0; i < 100; ++i) {
    const std::string key = "k" + std::to_string(i);
    const auto entry = begin(key, "body", "hostile");
    if (!entry) break;
    ASSERT_TRUE(finish(key, std::string(100'000, 'x'), "hostile"));
  }
  for (int i = 0; i < 5; ++i) add_many(20, 100'000, "hostile");
  ASSERT_TRUE(gc());
  EXPECT_LE(store_->bytes_used(), 2u << 20);
  EXPECT_EQ(begin("k", "body", "victim").value().answer.size(), 50'000u);
  EXPECT_EQ(begin("k0", "body", "hostile").value().state, IdempotentState::kDone);
  now_ms_ += 25ll * 3600 * 1000;
  ASSERT_TRUE(gc());
  EXPECT_EQ(begin("k", "other body", "victim").value().state, IdempotentState::kFresh);
  EXPECT_EQ(begin("new", "body", "hostile").value().state, IdempotentState::kFresh);
}

TEST_F(RetentionTest, GcGivesTheSpaceBack) {
  open();
  add_many(400, 16'000);
  ASSERT_TRUE(gc());
  const std::uint64_t full = store_->bytes_used();
  EXPECT_GT(full, 6'000'000u);
  options_.retention.max_runs = 4;
  open();
  const GcReport report = gc().value();
  EXPECT_LE(report.runs, 396u);  // the tick may have been first
  EXPECT_EQ(store_->health().runs, 4u);
  EXPECT_LT(store_->bytes_used(), full / 10);
}

TEST_F(RetentionTest, ByTheDefaultClockWhatIsYoungStays) {
  options_.clock_ms = nullptr;
  options_.retention.max_age = std::chrono::hours(1);
  open();
  const RunId id = add_many(1).front();
  ASSERT_TRUE(gc());
  EXPECT_TRUE(get("default", id));
}

}  // namespace
}  // namespace glovebox::store
