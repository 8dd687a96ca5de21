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
  std::vector<RunId> add_many(int count, std::size_t out_bytes = 10) {
    std::vector<RunId> ids;
    for (int i = 0; i < count; ++i) {
      RunRecord run = run_of("default");
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

TEST_F(RetentionTest, FinishedIdempotentRequestsGoWhenNoRunIsLeft) {
  options_.retention.max_disk_bytes = 2u << 20;
  open();
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(begin("k" + std::to_string(i), "body"));
    ASSERT_TRUE(finish("k" + std::to_string(i), std::string(100'000, 'x')));
  }
  ASSERT_TRUE(begin("runs", "body"));
  EXPECT_TRUE(gc());
  EXPECT_LE(store_->bytes_used(), 2u << 20);
  EXPECT_EQ(begin("runs", "body").value().state, IdempotentState::kRunning);
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
