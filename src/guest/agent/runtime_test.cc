#include "guest/agent/runtime.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::agent {
namespace {

const std::string kSealed =
    "Name:\tpython3\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t3\nPid:\t3\nPPid:\t1\n"
    "TracerPid:\t0\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nFDSize:\t64\n"
    "Groups:\t \nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
    "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n"
    "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";

std::string with(const std::string& from, const std::string& to) {
  std::string status = kSealed;
  status.replace(status.find(from), from.size(), to);
  return status;
}

TEST(CheckSealed, TakesARuntimeThatIsSealedAsAGuestIs) {
  EXPECT_TRUE(check_sealed(kSealed, true, 3));
}

TEST(CheckSealed, RefusesARuntimeThatKeptAnything) {
  const std::pair<const char*, const char*> kept[] = {
      {"CapEff:\t0000000000000000", "CapEff:\t0000000000000001"},
      {"CapPrm:\t0000000000000000", "CapPrm:\t0000000000200000"},
      {"CapInh:\t0000000000000000", "CapInh:\t0000000000000001"},
      {"CapAmb:\t0000000000000000", "CapAmb:\t0000000000000001"},
      {"NoNewPrivs:\t1", "NoNewPrivs:\t0"},
      {"Seccomp:\t2", "Seccomp:\t0"},
      {"Seccomp_filters:\t3", "Seccomp_filters:\t2"},
      {"Uid:\t1000\t1000\t1000\t1000", "Uid:\t1000\t1000\t0\t1000"},
      {"Gid:\t1000\t1000\t1000\t1000", "Gid:\t0\t1000\t1000\t1000"},
      {"Groups:\t ", "Groups:\t0 "},
      {"TracerPid:\t0", "TracerPid:\t7"},
      {"PPid:\t1", "PPid:\t0"},
  };
  for (const auto& [from, to] : kept) EXPECT_FALSE(check_sealed(with(from, to), true, 3)) << to;
}

TEST(CheckSealed, AMissingLineIsNotAPass) { EXPECT_FALSE(check_sealed("Name:\tx\n", true, 2)); }

}  // namespace
}  // namespace glovebox::agent
