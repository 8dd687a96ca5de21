#include "probe/kernel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KernelText, AnAbsentFileIsNoText) {
  EXPECT_EQ(read_text("/proc/no-such-file"), std::nullopt);
  EXPECT_EQ(read_text("/proc"), std::nullopt);
  EXPECT_EQ(read_number("/proc/no-such-file"), std::nullopt);
}

TEST(KernelText, ReadsANumberAndNothingElse) {
  EXPECT_EQ(parse_number("128\n"), 128);
  EXPECT_EQ(parse_number(" -1 "), -1);
  for (const char* bad : {"", "\n", "12 13", "max", "0x10", "99999999999999999999"}) {
    EXPECT_EQ(parse_number(bad), std::nullopt) << bad;
  }
}

TEST(KernelText, SplitsLinesAndWords) {
  EXPECT_THAT(split("a\n\nb\n", '\n'), ElementsAre("a", "", "b"));
  EXPECT_THAT(words("  cpu\tmemory \n pids\n"), ElementsAre("cpu", "memory", "pids"));
  EXPECT_THAT(words(" \n"), IsEmpty());
}

TEST(KernelText, WritingReportsTheErrno) {
  EXPECT_EQ(write_text("/proc/no-such-file", "1"), ENOENT);
  EXPECT_EQ(write_text("/dev/null", "1"), 0);
}

}  // namespace
}  // namespace glovebox::probe
