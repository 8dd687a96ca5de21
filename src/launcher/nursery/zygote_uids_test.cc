#include "launcher/nursery/zygote_uids.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace glovebox::launcher {
namespace {

TEST(ZygoteUids, AreAssignedRoundRobin) {
  ZygoteUids uids(3);
  for (const std::uint32_t expected : {1u, 2u, 3u, 1u}) EXPECT_EQ(*uids.take().value(), expected);
}

// A sandbox that its zygote made may live for days.
TEST(ZygoteUids, SkipsUidsInUse) {
  ZygoteUids uids(3);
  ZygoteUids::Lease first = uids.take().value();
  const std::shared_ptr<const void> of_a_sandbox = first;
  first.reset();
  for (const std::uint32_t expected : {2u, 3u, 2u, 3u}) EXPECT_EQ(*uids.take().value(), expected);
}

TEST(ZygoteUids, BehindTheLastComesTheFirstAlsoWhenTheLastIsInUse) {
  ZygoteUids uids(3);
  for (const std::uint32_t expected : {1u, 2u}) EXPECT_EQ(*uids.take().value(), expected);
  const ZygoteUids::Lease last = uids.take().value();
  EXPECT_EQ(*last, 3u);
  for (const std::uint32_t expected : {1u, 2u, 1u, 2u}) EXPECT_EQ(*uids.take().value(), expected);
}

TEST(ZygoteUids, AreBounded) {
  ZygoteUids uids(3);
  std::vector<ZygoteUids::Lease> all;
  for (int i = 0; i < 3; ++i) all.push_back(uids.take().value());
  EXPECT_EQ(uids.take().error().code(), Errc::kResourceExhausted);
  all.erase(all.begin() + 1);
  EXPECT_EQ(*uids.take().value(), 2u);
}

TEST(ZygoteUids, OutliveTheAllocator) {
  std::optional<ZygoteUids> uids(std::in_place, 3);
  const ZygoteUids::Lease held = uids->take().value();
  uids.reset();
  EXPECT_EQ(*held, 1u);
}

}  // namespace
}  // namespace glovebox::launcher
