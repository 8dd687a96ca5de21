#include "node/host/host_pressure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::node {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kGb = 1ull << 30;

class Pressure : public ::testing::Test {
 protected:
  std::string reason() {
    pressure_.sample();
    return pressure_.full_reason();
  }
  HostSample now_{.stalled_percent = 0.0, .total_bytes = 32 * kGb, .available_bytes = 20 * kGb};
  HostPressure pressure_{[this] { return now_; }};
};

TEST(HostSample, IsReadFromTheKernelsTexts) {
  const HostSample sample = parse_host_sample(
      "MemTotal:       24683520 kB\nMemFree:        15528960 kB\nMemAvailable:   23043072 kB\n",
      "some avg10=1.50 avg60=0.00 avg300=0.03 total=13796529\n"
      "full avg10=12.25 avg60=0.00 avg300=0.00 total=2885962\n");
  EXPECT_EQ(sample.total_bytes, 24683520ull << 10);
  EXPECT_EQ(sample.available_bytes, 23043072ull << 10);
  EXPECT_EQ(sample.stalled_percent, 12.25);
}

TEST(HostSample, WhatTheKernelDoesNotSayIsNotGuessed) {
  EXPECT_EQ(parse_host_sample("", ""), HostSample{});
  EXPECT_EQ(parse_host_sample("MemTotal: x\n", "full avg10=\n"), HostSample{});
}

TEST_F(Pressure, AHostWithMemoryIsNotFull) { EXPECT_EQ(reason(), ""); }

TEST_F(Pressure, WaitingForMemoryAloneDoesNotFillTheHost) {
  now_.stalled_percent = 90;  // a sandbox that works at its own limit does that
  EXPECT_EQ(reason(), "");
}

TEST_F(Pressure, WithLittleMemoryLeftWaitingForItFillsTheHost) {
  now_.available_bytes = 3 * kGb;
  EXPECT_EQ(reason(), "");
  now_.stalled_percent = 10;
  EXPECT_THAT(reason(), HasSubstr("3072 MB of memory left"));
}

TEST_F(Pressure, WithAlmostNoMemoryLeftTheHostIsFullAlsoWithoutPressureFiles) {
  now_.stalled_percent.reset();
  now_.available_bytes = kGb;
  EXPECT_EQ(reason(), "");
  now_.available_bytes = kGb - 1;
  EXPECT_THAT(reason(), HasSubstr("1023 MB of memory left"));
  now_.available_bytes = 2 * kGb;  // and again not
  EXPECT_EQ(reason(), "");
}

TEST_F(Pressure, TheProcessesOfAllSandboxesTogetherFillTheHost) {
  pressure_.set_launcher_measurement({.pids = 968, .pids_limit = 1000});
  EXPECT_EQ(reason(), "");
  pressure_.set_launcher_measurement({.pids = 969, .pids_limit = 1000});
  EXPECT_THAT(reason(), HasSubstr("969 of at most 1000 processes"));
  EXPECT_EQ(pressure_.figures().pids, 969u);
  pressure_.launcher_lost();
  EXPECT_EQ(reason(), "");
}

TEST_F(Pressure, TheMemoryOfAllSandboxesTogetherFillsTheHost) {
  pressure_.set_launcher_measurement({.memory_bytes = 31 * kGb, .memory_limit_bytes = 32 * kGb});
  EXPECT_EQ(reason(), "");
  pressure_.set_launcher_measurement(
      {.memory_bytes = 31 * kGb + 1, .memory_limit_bytes = 32 * kGb});
  EXPECT_THAT(reason(), HasSubstr("31744 MB of at most 32768 MB"));
}

TEST(HostPressure, WithoutASourceOnlyTheLauncherCounts) {
  HostPressure pressure({});
  pressure.sample();
  EXPECT_EQ(pressure.full_reason(), "");
}

}  // namespace
}  // namespace glovebox::node
