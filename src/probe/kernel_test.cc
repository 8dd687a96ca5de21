#include "probe/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>

namespace glovebox::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kEverything = ~std::uint64_t{0};

const Finding* find(const Findings& findings, std::string_view name) {
  for (const Finding& finding : findings) {
    if (finding.name == name) return &finding;
  }
  return nullptr;
}

TEST(Kernel, NamesTheCapabilitiesThatTheLauncherLacks) {
  EXPECT_THAT(missing_launcher_capabilities(kEverything), IsEmpty());
  EXPECT_THAT(missing_launcher_capabilities(kEverything & ~(1ull << CAP_SYS_ADMIN)),
              ElementsAre("CAP_SYS_ADMIN"));
}

TEST(Kernel, KnowsTheInitialUserNamespaceByItsMap) {
  EXPECT_TRUE(is_initial_uid_map("         0          0 4294967295\n"));
  EXPECT_FALSE(is_initial_uid_map("         0       1000          1\n"));
  EXPECT_FALSE(is_initial_uid_map("0 1000 1\n1 100000 65536\n"));
  EXPECT_FALSE(is_initial_uid_map(""));
}

TEST(Kernel, SeesAContainersFilterInItsStatus) {
  EXPECT_TRUE(status_shows_seccomp("NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
  EXPECT_FALSE(status_shows_seccomp("NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n"));
  EXPECT_FALSE(status_shows_seccomp(""));
}

TEST(Kernel, TellsAnOrdinaryUserHowToGetTheOtherWalls) {
  const KernelFacts facts{.release = "6.1.0", .machine = "x86_64", .euid = 1000};
  Findings findings;
  explain(facts, findings);
  ASSERT_NE(find(findings, "privileges"), nullptr);
  EXPECT_EQ(find(findings, "privileges")->state, State::kWarn);
  EXPECT_THAT(find(findings, "privileges")->detail, HasSubstr("rootless"));
  EXPECT_THAT(find(findings, "privileges")->fix, HasSubstr("root"));
}

TEST(Kernel, RootWithEverythingIsFine) {
  const KernelFacts facts{.euid = 0, .capabilities = kEverything, .can_shield_from_oom = true};
  Findings findings;
  explain(facts, findings);
  for (const Finding& finding : findings) EXPECT_EQ(finding.state, State::kOk) << finding.name;
}

TEST(Kernel, ProbingReportsThisHostsRelease) {
  const KernelFacts facts = probe_kernel();
  EXPECT_NE(facts.release, "");
  EXPECT_TRUE(facts.helpers.ok()) << facts.helpers.why();
}

}  // namespace
}  // namespace glovebox::probe
