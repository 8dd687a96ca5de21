#include "probe/mounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/mount_trials.h"

namespace glovebox::probe {
namespace {

using ::testing::HasSubstr;

const Finding* find(const Findings& findings, std::string_view name) {
  for (const Finding& finding : findings) {
    if (finding.name == name) return &finding;
  }
  return nullptr;
}

TEST(Mounts, AnOverlayRootIsNamedAsTheReasonForNoIdmaps) {
  MountFacts facts;
  facts.is_root = true;
  facts.root_is_overlay = true;
  facts.idmapped = Attempt::failed(kIdmapStep, EINVAL);
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "idmapped"), nullptr);
  EXPECT_EQ(find(findings, "idmapped")->state, State::kWarn);
  EXPECT_THAT(find(findings, "idmapped")->fix, HasSubstr("overlay"));
}

TEST(Mounts, AnOldKernelIsNamedAsTheReasonForNoIdmaps) {
  MountFacts facts;
  facts.is_root = true;
  facts.idmapped = Attempt::failed(kIdmapStep, EINVAL);
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "idmapped"), nullptr);
  EXPECT_THAT(find(findings, "idmapped")->fix, HasSubstr("5.12"));
}

TEST(Mounts, DistinguishesAMissingModuleFromARefusal) {
  MountFacts facts;
  facts.is_root = true;
  facts.overlay = Attempt::failed("fsopen overlay", ENODEV);
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "overlay"), nullptr);
  EXPECT_EQ(find(findings, "overlay")->state, State::kMissing);
  EXPECT_THAT(find(findings, "overlay")->fix, HasSubstr("modprobe overlay"));
}

}  // namespace
}  // namespace glovebox::probe
