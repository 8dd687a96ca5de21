// The queue itself: who loses records when it is full. What it does for the store is in
// runs_test.cc.
#include "store/run_queue.h"

#include <gtest/gtest.h>

namespace glovebox::store {
namespace {

RunRecord record_of(const std::string& project, std::size_t bytes) {
  RunRecord record;
  record.project = project;
  record.out = std::string(bytes, 'x');
  return record;
}

class RunQueueTest : public ::testing::Test {
 protected:
  std::optional<std::size_t> add(const RunRecord& run) {
    return queue_.add(run, 1000, RunQueue::TimePoint{});
  }
  std::size_t count(const std::string& project) const {
    return queue_.list(project, {}, 0, 1000).size();
  }
  RunQueue queue_{100, 100'000};
};

TEST_F(RunQueueTest, WhenFullTheProjectWithMostLosesItsNewest) {
  const RunRecord early = record_of("victim", 1000);
  ASSERT_TRUE(add(early));
  const RunRecord first = record_of("hostile", 20'000);
  ASSERT_TRUE(add(first));
  for (int i = 0; i < 50; ++i) add(record_of("hostile", 20'000));
  EXPECT_EQ(count("hostile"), 4u);
  EXPECT_EQ(queue_.dropped(), 47u);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(add(record_of("victim", 3000)));
  EXPECT_EQ(count("victim"), 11u);
  EXPECT_EQ(count("hostile"), 3u);
  EXPECT_NE(queue_.find("victim", early.id), nullptr);
  EXPECT_NE(queue_.find("hostile", first.id), nullptr);
}

TEST_F(RunQueueTest, WhenFullByNumberToo) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(add(record_of("hostile", 0)));
  EXPECT_FALSE(add(record_of("hostile", 0)));
  for (int i = 0; i < 60; ++i) add(record_of("victim", 0));
  EXPECT_EQ(count("victim"), 50u);
  EXPECT_EQ(count("hostile"), 50u);
  EXPECT_EQ(queue_.size(), 100u);
}

TEST_F(RunQueueTest, ARecordThatIsLargerThanAllDropsNoOther) {
  ASSERT_TRUE(add(record_of("victim", 1000)));
  EXPECT_FALSE(add(record_of("hostile", 200'000)));
  EXPECT_EQ(count("victim"), 1u);
}

TEST_F(RunQueueTest, IsFilledToItsLastByte) {
  ASSERT_TRUE(add(record_of("one", 1000)));
  const std::size_t bytes = queue_.oldest(1, 1)[0]->bytes;
  RunQueue exact(100, 2 * bytes);
  EXPECT_TRUE(exact.add(record_of("one", 1000), 1000, {}));
  EXPECT_TRUE(exact.add(record_of("one", 1000), 1000, {}));
  EXPECT_FALSE(exact.add(record_of("one", 0), 1000, {}));
  RunQueue less(100, 2 * bytes - 1);
  EXPECT_TRUE(less.add(record_of("one", 1000), 1000, {}));
  EXPECT_FALSE(less.add(record_of("one", 1000), 1000, {}));
}

TEST_F(RunQueueTest, AProjectThatWouldHaveAsMuchTakesNothingFromAnother) {
  ASSERT_TRUE(add(record_of("one", 1000)));
  const std::size_t bytes = queue_.oldest(1, 1)[0]->bytes;
  RunQueue queue(100, 3 * bytes);
  for (const char* project : {"one", "one", "two"}) {
    ASSERT_TRUE(queue.add(record_of(project, 1000), 1000, {}));
  }
  EXPECT_FALSE(queue.add(record_of("two", 1000), 1000, {})) << "they would be equal";
  EXPECT_EQ(queue.list("one", {}, 0, 10).size(), 2u);
  EXPECT_TRUE(queue.add(record_of("two", 999), 1000, {})) << "and now it has less";
  EXPECT_EQ(queue.list("one", {}, 0, 10).size(), 1u);
}

TEST_F(RunQueueTest, AListIsBoundedAndBeforeItsPlace) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(add(record_of("one", 0)));
  const QueuedRuns all = queue_.list("one", {}, 0, 5);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(queue_.list("one", {}, 0, 4).size(), 4u);
  EXPECT_EQ(queue_.list("one", {}, all[1]->seq, 5).size(), 3u);
  EXPECT_EQ(queue_.list("one", {}, all[4]->seq, 5).size(), 0u);
}

TEST(RunFilters, TheBeginningIsWithin) {
  RunRecord run;
  run.started_ms = 5000;
  EXPECT_TRUE(matches({.since_ms = 5000}, run));
  EXPECT_FALSE(matches({.since_ms = 5001}, run));
  EXPECT_FALSE(matches({.until_ms = 5000}, run));
  EXPECT_TRUE(matches({.until_ms = 5001}, run));
  EXPECT_TRUE(matches({}, run));
}

TEST_F(RunQueueTest, ABatchEndsWithTheOneThatReachesItsBytes) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(add(record_of("one", 1000)));
  const std::size_t bytes = queue_.oldest(1, 1)[0]->bytes;
  EXPECT_EQ(queue_.oldest(100, bytes).size(), 1u);
  EXPECT_EQ(queue_.oldest(100, bytes + 1).size(), 2u);
}

TEST_F(RunQueueTest, ABatchEndsAtItsBytesAndIsRemovedByItsPlace) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(add(record_of("one", 10'000)));
  EXPECT_EQ(queue_.oldest(3, 1u << 20).size(), 3u);
  EXPECT_EQ(queue_.oldest(100, 1).size(), 1u);
  const QueuedRuns batch = queue_.oldest(100, 15'000);
  ASSERT_EQ(batch.size(), 2u);
  queue_.remove_through(batch.back()->seq);
  EXPECT_EQ(queue_.size(), 3u);
  EXPECT_EQ(queue_.find("one", batch[1]->run.id), nullptr);
  EXPECT_EQ(queue_.oldest(1, 1)[0]->seq, batch.back()->seq + 1);
}

}  // namespace
}  // namespace glovebox::store
