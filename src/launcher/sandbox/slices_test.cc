#include "launcher/sandbox/slices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

namespace glovebox::launcher {
namespace {

constexpr std::uint32_t kFirst = 1u << 24;
constexpr std::uint32_t kLast = kFirst + 17 * kSliceSize - 1;  // sixteen, and the server's

class Slices : public ::testing::Test {
 protected:
  Slices() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gbx-slices-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
    file_ = dir_ + "/slices";
  }
  ~Slices() override { std::filesystem::remove_all(dir_); }
  Result<SliceBlock> lease(std::uint32_t count) {
    return SliceBlock::lease(file_, kFirst, kLast, count);
  }
  std::string dir_;
  std::string file_;
};

TEST_F(Slices, NoTwoLeasesOverlap) {
  std::vector<SliceBlock> held;
  std::set<std::uint32_t> firsts;
  for (int i = 0; i < 8; ++i) {
    held.push_back(lease(2).value());
    firsts.insert(held.back().host_uid());
  }
  EXPECT_EQ(firsts.size(), 8u);
  EXPECT_FALSE(lease(2)) << "sixteen slices hold eight blocks of two";
}

TEST_F(Slices, TheFirstIsTheServersAndNeverLeased) {
  for (int i = 0; i < 40; ++i) EXPECT_GE(lease(2).value().host_uid(), kFirst + kSliceSize);
  EXPECT_FALSE(lease(17));
}

TEST_F(Slices, ALeaseEndsWithItsHolder) {
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(lease(16)) << i;
}

TEST_F(Slices, AGivenBackBlockIsTheLastToComeAgain) {
  const std::uint32_t first = lease(2).value().host_uid();
  for (int i = 0; i < 7; ++i) EXPECT_NE(lease(2).value().host_uid(), first);
  EXPECT_EQ(lease(2).value().host_uid(), first);
}

TEST_F(Slices, WithinABlockTheLeastRecentlyUsedGoesFirst) {
  SliceBlock block = lease(4).value();
  const std::uint32_t a = block.take().value();
  block.give_back(a);
  EXPECT_NE(block.take().value(), a);
  EXPECT_NE(block.take().value(), a);
  EXPECT_EQ(block.take().value(), a);
  EXPECT_FALSE(block.take());
}

TEST_F(Slices, TheNurserysOwnSliceIsNeverASandboxs) {
  SliceBlock block = lease(2).value();
  EXPECT_EQ(block.take().value(), kSliceSize);
}

}  // namespace
}  // namespace glovebox::launcher
