#include "bench/wheel_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::bench {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(WheelFile, HasTheModuleAndItsMetadata) {
  const Wheel wheel = make_wheel("gbx_bench_7", "number = 7\n");
  EXPECT_EQ(wheel.file, "gbx_bench_7-1.0-py3-none-any.whl");
  EXPECT_THAT(wheel.bytes, StartsWith("PK\3\4"));
  for (const char* part : {"gbx_bench_7.py", "number = 7\n", "gbx_bench_7-1.0.dist-info/METADATA",
                           "Tag: py3-none-any", "gbx_bench_7-1.0.dist-info/RECORD,,"}) {
    EXPECT_THAT(wheel.bytes, HasSubstr(part));
  }
  // The end of the directory: four entries, no comment.
  const std::string end = wheel.bytes.substr(wheel.bytes.size() - 22);
  EXPECT_THAT(end, StartsWith(std::string("PK\5\6\0\0\0\0\4\0\4\0", 12)));
  EXPECT_THAT(end, EndsWith(std::string("\0\0", 2)));
}

TEST(WheelFile, IsReproducible) {
  EXPECT_EQ(make_wheel("a", "x = 1").sha256, make_wheel("a", "x = 1").sha256);
  EXPECT_NE(make_wheel("a", "x = 1").sha256, make_wheel("b", "x = 1").sha256);
  EXPECT_EQ(make_wheel("a", "x = 1").sha256.size(), 64u);
}

}  // namespace
}  // namespace glovebox::bench
