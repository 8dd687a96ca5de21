// Tests of the arithmetic: how large a pool wants to be, whose turn it is, what lines are kept.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "node/pools/budget.h"
#include "node/pools/cpu_weight.h"
#include "node/pools/fair_queue.h"
#include "node/pools/pool_size.h"
#include "node/runs/result_lines.h"

namespace glovebox::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PoolSize, GrowsToWhatWasWantedAtOnce) {
  Clock::time_point now{};
  PoolSize size(2, 128, seconds(30), now);
  EXPECT_EQ(size.target(), 2u);
  size.on_miss(now, 3, 1);
  EXPECT_EQ(size.target(), 3u);
  // A burst of a hundred.
  size.on_miss(now, 100, 84);
  EXPECT_EQ(size.target(), 100u);
}

TEST(PoolSize, SixteenClientsNeedSixteenHoweverOftenTheyCome) {
  Clock::time_point now{};
  PoolSize size(2, 128, seconds(30), now);
  for (int i = 0; i < 1000; ++i) size.on_miss(now += milliseconds(5), 16, 14);
  EXPECT_EQ(size.target(), 16u);
}

TEST(PoolSize, RunsThatTakeLongDoNotMakeItJump) {
  Clock::time_point now{};
  PoolSize size(2, 128, seconds(30), now);
  size.on_miss(now, 90, 1);
  EXPECT_EQ(size.target(), 4u);
}

TEST(PoolSize, ShrinksAtOnceWhenTheHostIsShortOfMemory) {
  Clock::time_point now{};
  PoolSize size(2, 128, seconds(30), now);
  size.on_miss(now, 100, 84);
  size.shrink();
  EXPECT_EQ(size.target(), 2u);
}

TEST(PoolSize, GrowsFromNothing) {
  PoolSize size(0, 8, seconds(30), Clock::time_point{});
  EXPECT_EQ(size.target(), 0u);
  size.on_miss(Clock::time_point{}, 1, 1);
  EXPECT_EQ(size.target(), 1u);
}

TEST(PoolSize, GrowsWithDemandWithoutAMiss) {
  Clock::time_point now{};
  PoolSize size(1, 64, seconds(30), now);
  for (int i = 0; i < 50; ++i) size.on_created(milliseconds(10));
  for (int i = 0; i < 1000; ++i) size.on_take(now += milliseconds(2));
  // 500 a second, 10 ms to make one: five are taken meanwhile, ten while two are made.
  EXPECT_GE(size.target(), 9u);
  EXPECT_LE(size.target(), 13u);
}

TEST(PoolSize, GoesBackToItsMinimumWithoutDemand) {
  Clock::time_point now{};
  PoolSize size(2, 32, seconds(30), now);
  size.on_miss(now, 100, 40);
  size.on_take(now);
  size.tick(now += seconds(29));
  EXPECT_EQ(size.target(), 32u);
  size.tick(now += seconds(2));
  EXPECT_EQ(size.target(), 2u);
}

TEST(PoolSize, ShrinksSlowlyWhenLessIsAskedFor) {
  Clock::time_point now{};
  PoolSize size(2, 32, seconds(30), now);
  size.on_miss(now, 100, 40);
  for (int i = 0; i < 40; ++i) {
    size.on_take(now += seconds(1));
    size.tick(now);
  }
  EXPECT_EQ(size.target(), 24u);
}

TEST(PoolSize, NeverLeavesItsBounds) {
  Clock::time_point now{};
  PoolSize size(4, 4, seconds(30), now);
  size.on_miss(now, 9, 9);
  EXPECT_EQ(size.target(), 4u);
  size.set_bounds(0, 0);
  size.on_miss(now, 9, 9);
  EXPECT_EQ(size.target(), 0u);
}

std::vector<int> serve(FairQueue<int>& queue, std::size_t most) {
  std::vector<int> served;
  queue.serve([&](int item) {
    if (served.size() >= most) return false;
    served.push_back(item);
    return true;
  });
  return served;
}

TEST(FairQueue, OneWaitsForOneAndNotForAThousand) {
  FairQueue<int> queue;
  for (int i = 0; i < 1000; ++i) queue.push("many", i);
  queue.push("one", 5000);
  const std::vector<int> served = serve(queue, 2);
  EXPECT_EQ(served, (std::vector<int>{0, 5000}));
  EXPECT_EQ(queue.size(), 999u);
  EXPECT_EQ(queue.size_of("many"), 999u);
  EXPECT_EQ(queue.size_of("one"), 0u);
}

TEST(FairQueue, TurnsGoOnWhereTheyEnded) {
  FairQueue<int> queue;
  for (int i = 0; i < 3; ++i) {
    queue.push("a", 10 + i);
    queue.push("b", 20 + i);
    queue.push("c", 30 + i);
  }
  EXPECT_EQ(serve(queue, 2), (std::vector<int>{10, 20}));
  EXPECT_EQ(serve(queue, 2), (std::vector<int>{30, 11}));
  EXPECT_EQ(serve(queue, 100), (std::vector<int>{21, 31, 12, 22, 32}));
  EXPECT_TRUE(queue.empty());
}

TEST(FairQueue, WhoCannotBeServedDoesNotStopTheOthers) {
  FairQueue<int> queue;
  queue.push("large", 1);
  queue.push("small", 2);
  queue.push("small", 3);
  std::vector<int> served;
  queue.serve([&](int item) {
    if (item == 1) return false;
    served.push_back(item);
    return true;
  });
  EXPECT_EQ(served, (std::vector<int>{2, 3}));
  EXPECT_EQ(queue.size(), 1u);
}

TEST(FairQueue, RemovesTheOneWhoLeaves) {
  FairQueue<int> queue;
  queue.push("a", 1);
  queue.push("a", 2);
  queue.push("b", 3);
  EXPECT_TRUE(queue.remove("b", 3));
  EXPECT_FALSE(queue.remove("b", 3));
  EXPECT_TRUE(queue.remove("a", 1));
  EXPECT_EQ(serve(queue, 9), (std::vector<int>{2}));
}

TEST(Budget, GivesBackWhatItGave) {
  Budget budget(2, 100);
  int released = 0;
  budget.on_release([&] { ++released; });
  {
    Charge one(budget, 10);
    Charge moved(std::move(one));
    EXPECT_FALSE(budget.fits(1, 91));
    moved.change(90);
    EXPECT_TRUE(budget.fits(1, 10));
    EXPECT_FALSE(budget.fits(2, 0));
  }
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(budget.fits(2, 100));
}

TEST(CpuWeight, ManyRunsOfOneOwnerWeighLittleMoreThanAFew) {
  EXPECT_EQ(cpu_weight_of(0), wire::kFullCpuWeight);
  EXPECT_EQ(cpu_weight_of(1), wire::kFullCpuWeight);
  EXPECT_EQ(cpu_weight_of(4), wire::kFullCpuWeight / 4);
  EXPECT_EQ(cpu_weight_of(100'000), 8);
  std::uint32_t together = 0;
  for (std::uint32_t n = 1; n <= 64; ++n) together += cpu_weight_of(n);
  EXPECT_LT(together, 5 * wire::kFullCpuWeight);
}

TEST(Budget, CountsTheProcessesOfEachOwner) {
  Budget budget(100, 1000);
  EXPECT_EQ(budget.counted_pids(128), 0u);  // not known yet
  EXPECT_TRUE(budget.fits_pids(1u << 30));
  budget.set_max_pids(800);
  EXPECT_EQ(budget.counted_pids(20), 20u);
  EXPECT_EQ(budget.counted_pids(500), 100u);  // at least eight fit
  std::optional<Charge> first(std::in_place, budget, 1);
  Charge second(budget, 1);
  first->give_to("a", 100);
  second.give_to("a", 400);
  EXPECT_TRUE(budget.fits_pids(300));
  EXPECT_FALSE(budget.fits_pids(301));
  EXPECT_TRUE(budget.holds_more_than_half("a"));
  EXPECT_FALSE(budget.is_within_share("a", 75, 0, 101));
  EXPECT_TRUE(budget.is_within_share("a", 75, 0, 100));
  EXPECT_FALSE(budget.is_within_share("a", 75, 749, 0));
  EXPECT_TRUE(budget.is_within_share("a", 75, 748, 0));
  EXPECT_TRUE(budget.is_within_share("a", 100, 1000, 800));
  EXPECT_TRUE(budget.is_within_share("b", 75, 1000, 800));  // has none
  first.reset();
  EXPECT_EQ(budget.pids(), 400u);
  EXPECT_FALSE(budget.holds_more_than_half("a"));
}

TEST(ResultLines, CutsLinesWhereTheyEnd) {
  ResultLines lines;
  EXPECT_TRUE(lines.add("{\"a\":").empty());
  EXPECT_EQ(lines.add("1}\n\n{}\n{"), (std::vector<std::string>{"{\"a\":1}", "{}"}));
  EXPECT_EQ(lines.finish(), (std::vector<std::string>{"{"}));
  EXPECT_FALSE(lines.truncated());
}

TEST(ResultLines, DropsALineThatIsTooLongAndGoesOn) {
  ResultLines lines;
  const std::string part(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(lines.add(part).empty());
  EXPECT_EQ(lines.add("\nshort\n"), (std::vector<std::string>{"short"}));
  EXPECT_TRUE(lines.truncated());
}

TEST(ResultLines, KeepsNoMoreThanItsTotal) {
  ResultLines lines;
  std::string line(6u << 20, 'x');
  line += '\n';
  std::size_t kept = 0;
  for (int i = 0; i < 10; ++i) kept += lines.add(line).size();
  EXPECT_EQ(kept, 1u);
  EXPECT_TRUE(lines.truncated());
}

TEST(ResultLines, KeepsNoMoreValuesThanAreReadInAMoment) {
  ResultLines lines;
  std::string line = "{\"type\":\"result\",\"mime\":{\"application/json\":[0";
  for (int i = 0; i < 15'000; ++i) line += ",0";
  line += "]}}\n";
  std::size_t kept = 0;
  for (int i = 0; i < 10; ++i) kept += lines.add(line).size();
  EXPECT_EQ(kept, 2u);
  EXPECT_TRUE(lines.truncated());
}

TEST(ResultLines, KnowsTheLastWord) {
  EXPECT_EQ(exit_line("{\"type\":\"exit\",\"code\":0}"), 0);
  EXPECT_EQ(exit_line("{\"type\":\"exit\",\"code\":255}"), 255);
  EXPECT_EQ(exit_line("{\"type\":\"exit\",\"code\":256}"), std::nullopt);
  EXPECT_EQ(exit_line("{\"type\":\"exit\",\"code\":}"), std::nullopt);
  EXPECT_EQ(exit_line("{\"type\":\"exit\",\"code\":1,\"x\":2}"), std::nullopt);
  EXPECT_EQ(exit_line("{\"type\":\"result\"}"), std::nullopt);
}

}  // namespace
}  // namespace glovebox::node
