// The probes as a whole, on whatever host the tests run on: quick, tidy, and self-consistent.
#include "probe/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "probe/engines.h"
#include "probe/kernel_text.h"
#include "probe/mount_trials.h"

namespace glovebox::probe {
namespace {

// Only where trials mount: others on this host may mount elsewhere meanwhile.
std::size_t count_mounts() {
  const std::string mounts = read_text("/proc/self/mountinfo").value_or("");
  std::size_t count = 0;
  for (const std::string_view line : split(mounts, '\n')) {
    const std::vector<std::string_view> fields = words(line);
    if (fields.size() > 4 && fields[4] == kTrialDir) ++count;
  }
  return count;
}

std::size_t count_descriptors() {
  return static_cast<std::size_t>(std::distance(
      std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

bool trial_groups_left(const CgroupLayout& layout) {
  std::vector<std::string> trees = {layout.v2_mount};
  for (const auto& [controller, mount] : layout.v1_mounts) trees.push_back(mount);
  const std::string ours = "gbx-doctor-" + std::to_string(::getpid()) + "-";
  for (const std::string& tree : trees) {
    if (tree.empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(tree)) {
      if (entry.path().filename().string().starts_with(ours)) return true;
    }
  }
  return false;
}

TEST(Host, ProbingLeavesNothingBehind) {
  const std::size_t mounts = count_mounts();
  const std::size_t descriptors = count_descriptors();
  const HostFacts host = probe_host();
  EXPECT_EQ(count_mounts(), mounts);
  EXPECT_EQ(count_descriptors(), descriptors);
  EXPECT_FALSE(trial_groups_left(host.cgroups.layout));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Host, WhatImagesNeedIsSaid) {
  const auto of_images = [](const HostFacts& host) {
    std::vector<std::string> texts;
    for (const Finding& finding : explain_host(host)) {
      if (finding.area == "images") texts.push_back(finding.detail + " | " + finding.fix);
    }
    return texts;
  };
  HostFacts host;
  host.kernel.euid = 0;
  host.mounts.idmapped = Attempt::worked();
  host.programs.runtimes = {{.name = "python3", .path = "/usr/bin/python3", .version = "3.11"}};
  host.landlock.abi = 5;
  ASSERT_EQ(of_images(host).size(), 2u);
  EXPECT_EQ(of_images(host)[0], "possible, from the registries in images.registries | ");
  EXPECT_THAT(of_images(host)[1], ::testing::HasSubstr("start cold"));
  host.programs.runtimes[0].version.clear();
  EXPECT_THAT(of_images(host)[0], ::testing::HasSubstr("not pulled"));
  host.kernel.euid = 1000;
  EXPECT_THAT(of_images(host)[0], ::testing::HasSubstr("as root"));
}

TEST(Host, EveryFindingIsOneLineAndEveryMissingOneHasAFix) {
  const Findings findings = explain_host(probe_host());
  EXPECT_GT(findings.size(), 20u);
  for (const Finding& finding : findings) {
    EXPECT_NE(finding.detail, "") << finding.name;
    EXPECT_EQ(finding.detail.find('\n'), std::string::npos) << finding.name;
    EXPECT_EQ(finding.fix.find('\n'), std::string::npos) << finding.name;
    EXPECT_TRUE(finding.state != State::kMissing || !finding.fix.empty()) << finding.name;
  }
}

TEST(Host, WhatAnEngineStandsOnWasFoundToWork) {
  const HostFacts host = probe_host();
  const EngineOutlook jail = judge_engines(host).at(0);
  if (!jail.usable()) GTEST_SKIP() << jail.why;
  EXPECT_TRUE(host.namespaces.all_work());
  EXPECT_TRUE(host.seccomp.filter.ok());
  EXPECT_TRUE(host.mounts.overlay.ok());
  EXPECT_TRUE(host.mounts.tmpfs.ok());
}

}  // namespace
}  // namespace glovebox::probe
