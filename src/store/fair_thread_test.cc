#include "store/fair_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

namespace glovebox::store {
namespace {

using ::testing::ElementsAre;

// The thread is held by a first job until release(); what was done since then, in order.
class HeldThread {
 public:
  explicit HeldThread(std::size_t max_jobs) : thread_(max_jobs) {
    std::promise<void> begun;
    std::future<void> has_begun = begun.get_future();
    thread_.run("holder", [this, &begun] {
      begun.set_value();
      released_.get_future().wait();
    });
    has_begun.wait();
  }
  ~HeldThread() { release(); }
  bool add(const std::string& owner, const std::string& job) {
    return thread_.run(owner, [this, job] { done_.push_back(job); });
  }
  std::vector<std::string> release() {
    if (!is_released_) released_.set_value();
    is_released_ = true;
    thread_.stop();
    return done_;
  }
  std::size_t waiting() const { return thread_.waiting(); }

 private:
  std::promise<void> released_;
  bool is_released_ = false;
  std::vector<std::string> done_;  // only on the thread, and after its end
  FairThread thread_;
};

TEST(FairThread, OwnersTakeTurnsAndEachKeepsItsOrder) {
  HeldThread thread(100);
  for (const char* job : {"a1", "a2", "a3", "a4"}) EXPECT_TRUE(thread.add("a", job));
  for (const char* job : {"b1", "b2"}) EXPECT_TRUE(thread.add("b", job));
  EXPECT_TRUE(thread.add("c", "c1"));
  EXPECT_EQ(thread.waiting(), 7u);
  EXPECT_THAT(thread.release(), ElementsAre("a1", "b1", "c1", "a2", "b2", "a3", "a4"));
}

TEST(FairThread, OneOwnerHasAtMostHalfOfThePlaces) {
  HeldThread thread(10);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(thread.add("a", "a"));
  EXPECT_FALSE(thread.add("a", "too many"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(thread.add("b", "b"));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(thread.add("c", "c"));
  EXPECT_FALSE(thread.add("c", "all are taken"));
  EXPECT_EQ(thread.release().size(), 10u);
}

TEST(FairThread, HalfOfAnOddNumberIsRoundedUp) {
  for (const auto& [places, of_one] : {std::pair(1, 1), std::pair(3, 2), std::pair(4, 2)}) {
    HeldThread thread(static_cast<std::size_t>(places));
    for (int i = 0; i < of_one; ++i) EXPECT_TRUE(thread.add("a", "a")) << places;
    EXPECT_FALSE(thread.add("a", "too many")) << places;
    for (int i = of_one; i < places; ++i) EXPECT_TRUE(thread.add("b", "b")) << places;
    EXPECT_FALSE(thread.add("c", "all are taken")) << places;
  }
}

TEST(FairThread, TheFirstTickComesAtOnceAndTheNextWhenItIsWoken) {
  std::atomic<int> ticks{0};
  std::promise<void> first;
  std::promise<void> second;
  FairThread thread(10, [&] {
    const int number = ++ticks;
    if (number == 1) first.set_value();
    if (number == 2) second.set_value();
    return std::chrono::milliseconds(3'600'000);
  });
  first.get_future().wait();
  EXPECT_EQ(ticks, 1);
  thread.wake();
  second.get_future().wait();
  std::promise<void> done;
  ASSERT_TRUE(thread.run("a", [&] { done.set_value(); }));
  done.get_future().wait();
  EXPECT_EQ(ticks, 2) << "a job is no reason for a tick";
}

}  // namespace
}  // namespace glovebox::store
