// The pins of skipped rows themselves: a row that says "the kernel lacks it" is believed only of a
// kernel that does.
#include "attacks/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "attack/attack_table.h"

namespace glovebox::attacks {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A kernel of files that a test writes.
class FeaturesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gbx-features-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    write("/proc/kallsyms", "");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string objection(const std::string& row) const {
    return objection_to_skipping(row, kernel_features(), Kernel(root_));
  }

  std::string root_;
};

TEST_F(FeaturesTest, ARowMayBeSkippedWhereItsFeatureIsNotThere) {
  EXPECT_EQ(objection("network_tipc"), "");
  EXPECT_EQ(objection("kernel_kexec"), "");
  EXPECT_EQ(objection("file_dev_kvm"), "");
}

TEST_F(FeaturesTest, ASilentSkipFails) {
  write("/proc/kallsyms",
        "0000000000000000 t tipc_sk_create\t[tipc]\n"
        "0000000000000000 T __x64_sys_kexec_load\n");
  write("/proc/misc", "232 kvm\n");
  EXPECT_THAT(objection("network_tipc"), HasSubstr("TIPC"));
  EXPECT_THAT(objection("kernel_kexec"), HasSubstr("kexec"));
  EXPECT_THAT(objection("file_dev_kvm"), HasSubstr("KVM"));
  // Others have not come back with them.
  EXPECT_EQ(objection("network_can"), "");
}

TEST_F(FeaturesTest, ASystemCallThatWasLeftOutIsNotThere) {
  write("/proc/kallsyms", "0000000000000000 W __x64_sys_kexec_load\n");
  EXPECT_EQ(objection("kernel_kexec"), "");
}

TEST_F(FeaturesTest, ARowThatNoFeatureNamesIsNeverSkipped) {
  EXPECT_THAT(objection("file_plain_path"), HasSubstr("names no feature"));
  EXPECT_THAT(objection("bomb_fork"), HasSubstr("names no feature"));
  EXPECT_THAT(objection("network_tipc_and_more"), HasSubstr("names no feature"));
}

TEST_F(FeaturesTest, ARowMayNameSeveralByTheirBeginning) {
  EXPECT_EQ(objection("egress_loopback_v6"), "");
  write("/proc/kallsyms", "0000000000000000 t veth_newlink\n");
  EXPECT_THAT(objection("egress_loopback_v6"), HasSubstr("Ethernet"));
}

TEST_F(FeaturesTest, WhatWasSwitchedOffIsNotThere) {
  write("/proc/kallsyms",
        "0000000000000000 T do_int80_emulation\n0000000000000000 T x32_sys_call\n"
        "0000000000000000 T __x64_sys_landlock_create_ruleset\n"
        "0000000000000000 T __x64_sys_memfd_secret\n");
  for (const char* row : {"kernel_i386_call", "kernel_x32_call", "namespace_override_landlock",
                          "kernel_memfd_secret", "kernel_tiocsti"}) {
    EXPECT_NE(objection(row), "") << row;
  }
  write("/proc/cmdline", "quiet ia32_emulation=off root=/dev/vda\n");
  write("/sys/module/syscall/parameters/x32", "N\n");
  write("/sys/kernel/security/lsm", "capability,yama\n");
  write("/sys/module/secretmem/parameters/enable", "N\n");
  write("/proc/sys/dev/tty/legacy_tiocsti", "0\n");
  for (const char* row : {"kernel_i386_call", "kernel_x32_call", "namespace_override_landlock",
                          "kernel_memfd_secret", "kernel_tiocsti"}) {
    EXPECT_EQ(objection(row), "") << row;
  }
}

TEST_F(FeaturesTest, AKernelThatTellsNothingIsNotBelieved) {
  fs::remove(root_ + "/proc/kallsyms");
  EXPECT_THAT(objection("network_tipc"), HasSubstr("does not list its functions"));
}

TEST(KernelFeatures, NameRowsOfTheTableEachOnce) {
  const char* given = std::getenv("GLOVEBOX_BIN_DIR");
  const auto rows =
      attack::load_table(std::string(given != nullptr ? given : GBX_BIN_DIR) + "/glovebox-attacks");
  ASSERT_TRUE(rows) << rows.error().message();
  std::set<std::string> names;
  for (const attack::AttackRow& row : *rows) names.insert(row.name);
  std::set<std::string> pinned;
  for (const Feature& feature : kernel_features()) {
    std::istringstream words(feature.rows);
    for (std::string word; words >> word;) {
      EXPECT_TRUE(pinned.insert(word).second) << word << " is named twice";
      if (word.back() == '*') continue;
      EXPECT_EQ(names.count(word), 1U) << word << " is no row";
    }
  }
}

}  // namespace
}  // namespace glovebox::attacks
