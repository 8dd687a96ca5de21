#include "probe/landlock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

using ::testing::HasSubstr;

Finding explained(const LandlockFacts& facts) {
  Findings findings;
  explain(facts, findings);
  return findings.at(0);
}

TEST(Landlock, SwitchedOffAndNotBuiltHaveDifferentFixes) {
  EXPECT_THAT(explained({.abi = 0, .error = EOPNOTSUPP}).fix, HasSubstr("lsm="));
  EXPECT_THAT(explained({.abi = 0, .error = ENOSYS}).fix, HasSubstr("5.13"));
}

TEST(Landlock, DebiansKernelHasItWithoutScoping) {
  const Finding finding = explained({.abi = 2, .error = 0, .enforced = Attempt::worked()});
  EXPECT_EQ(finding.state, State::kWarn);
  EXPECT_THAT(finding.detail, HasSubstr("ABI 2"));
}

TEST(Landlock, AnAbiThatDeniesNothingIsMissing) {
  const Finding finding = explained(
      {.abi = 7, .error = 0, .enforced = Attempt::failed("a forbidden write was allowed", -1)});
  EXPECT_EQ(finding.state, State::kMissing);
}

TEST(Landlock, WhereThisKernelHasItAWriteIsReallyDenied) {
  const LandlockFacts facts = probe_landlock();
  if (facts.abi == 0) GTEST_SKIP() << "this kernel has no Landlock, errno " << facts.error;
  EXPECT_TRUE(facts.enforced.ok()) << facts.enforced.why();
}

}  // namespace
}  // namespace glovebox::probe
