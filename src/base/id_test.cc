#include "base/id.h"

#include <gtest/gtest.h>

#include <set>

namespace glovebox {
namespace {

TEST(SandboxId, AMadeIdParsesBack) {
  const SandboxId id = SandboxId::make();
  EXPECT_EQ(SandboxId::parse(id.str()).value(), id);
  EXPECT_EQ(id.str().substr(0, 2), "sb");
  EXPECT_EQ(id.str().size(), 22u);
}

TEST(SandboxId, TenThousandAreAllDifferent) {
  std::set<std::string> seen;
  for (int i = 0; i < 10000; ++i) seen.insert(SandboxId::make().str());
  EXPECT_EQ(seen.size(), 10000u);
}

TEST(SandboxId, RefusesWhatCouldBeAPath) {
  EXPECT_FALSE(SandboxId::parse("sb../../../../etc/pass"));
  EXPECT_FALSE(SandboxId::parse("sb"));
  EXPECT_FALSE(SandboxId::parse(""));
  EXPECT_FALSE(SandboxId::parse("sbABCDEFGHIJKLMNOPQRST"));
  EXPECT_FALSE(SandboxId::parse(std::string("sb") + std::string(20, '\0')));
}

TEST(SandboxId, IsNotALauncherId) { EXPECT_FALSE(SandboxId::parse(LauncherId::make().str())); }

}  // namespace
}  // namespace glovebox
