#include "bench/profile/perf_counter.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/profile/process_clock.h"

namespace glovebox::bench {
namespace {

constexpr unsigned kCalls = 1'000;

// Counters of this thread; not every host gives them.
class PerfCounter : public ::testing::Test {
 protected:
  void SetUp() override {
    auto found = Tracepoints::find();
    if (!found) GTEST_SKIP() << found.error().message();
    tracepoints_ = *found;
    if (const auto tried = open(Event::kSystemCalls); !tried) {
      GTEST_SKIP() << tried.error().message();
    }
  }
  Result<UniqueFd> open(Event event) { return open_counter(0, event, &tracepoints_); }

  Tracepoints tracepoints_;
};

TEST_F(PerfCounter, CountsSystemCallsOfAChildThatHasEnded) {
  const UniqueFd counter = open(Event::kSystemCalls).value();
  const pid_t child = ::fork();
  if (child == 0) {
    for (unsigned i = 0; i < kCalls; ++i) ::syscall(SYS_getppid);
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::uint64_t counted = read_counter(counter).value();
  EXPECT_GE(counted, kCalls);
  EXPECT_LT(counted, 2 * kCalls);
}

TEST_F(PerfCounter, AMessageIsSentOnceAndReceivedOnce) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd one(ends[0]);
  const UniqueFd other(ends[1]);
  const UniqueFd sent = open(Event::kMessagesSent).value();
  const UniqueFd received = open(Event::kMessagesReceived).value();
  char byte = 'x';
  for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(::send(one.get(), &byte, 1, 0), 1);
  for (unsigned i = 0; i < 2; ++i) ASSERT_EQ(::recv(other.get(), &byte, 1, 0), 1);
  // There is nothing to receive on this side: a call, but no message.
  ASSERT_EQ(::recv(one.get(), &byte, 1, 0), -1);
  EXPECT_EQ(read_counter(sent).value(), 3u);
  EXPECT_EQ(read_counter(received).value(), 2u);
}

TEST_F(PerfCounter, CpuTimeIsThatOfTheClock) {
  const UniqueFd counter = open(Event::kCpuTime).value();
  const auto begin = own_cpu_time();
  while (own_cpu_time() - begin < std::chrono::milliseconds(20)) {
  }
  const auto counted = std::chrono::nanoseconds(read_counter(counter).value());
  EXPECT_GE(counted, std::chrono::milliseconds(18));
  EXPECT_LT(counted, std::chrono::milliseconds(200));
}

TEST(PerfCounterErrors, SystemCallsNeedTracepoints) {
  EXPECT_EQ(open_counter(0, Event::kSystemCalls, nullptr).error().code(), Errc::kUnavailable);
}

TEST(ProcessClock, AProcessThatHasEndedHasNone) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_GT(child, 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(process_cpu_time(child).error().code(), Errc::kNotFound);
  EXPECT_GT(process_cpu_time(::getpid()).value().count(), 0);
}

}  // namespace
}  // namespace glovebox::bench
