#include "bench/profile/kernel_threads.h"

#include <gtest/gtest.h>

namespace glovebox::bench {
namespace {

using std::chrono::nanoseconds;

TEST(KernelThreads, AreGroupedByName) {
  EXPECT_EQ(kernel_thread_group("kworker/u4:1-netns\n"), "kworker");
  EXPECT_EQ(kernel_thread_group("ksoftirqd/0\n"), "ksoftirqd");
  EXPECT_EQ(kernel_thread_group("rcu_preempt\n"), "rcu");
  EXPECT_EQ(kernel_thread_group("rcuop/1\n"), "rcu");
  EXPECT_EQ(kernel_thread_group("kthreadd\n"), "kthreadd");
}

TEST(KernelThreads, OnlyWhatWasAddedCounts) {
  const KernelThreads begin = {
      {10, {"kworker", nanoseconds(100)}}, {11, {"rcu", nanoseconds(50)}}, {12, {"gone", {}}}};
  const KernelThreads end = {{10, {"kworker", nanoseconds(130)}},
                             {11, {"kworker", nanoseconds(20)}},  // another, with the same number
                             {13, {"kworker", nanoseconds(7)}}};
  const GroupTimes added = added_times(begin, end);
  EXPECT_EQ(added, (GroupTimes{{"kworker", nanoseconds(57)}}));
  EXPECT_EQ(sum_of(added), nanoseconds(57));
}

TEST(KernelThreads, TheIdleShareIsTakenOff) {
  const GroupTimes idle = {{"kworker", nanoseconds(10)}, {"rcu", nanoseconds(10)}};
  const GroupTimes times = {
      {"kworker", nanoseconds(57)}, {"rcu", nanoseconds(5)}, {"other", nanoseconds(3)}};
  EXPECT_EQ(without_idle(times, idle, 2),
            (GroupTimes{{"kworker", nanoseconds(37)}, {"rcu", {}}, {"other", nanoseconds(3)}}));
}

}  // namespace
}  // namespace glovebox::bench
