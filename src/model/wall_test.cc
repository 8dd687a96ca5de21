#include "model/wall.h"

#include <gtest/gtest.h>

#include <set>

namespace glovebox {
namespace {

WallSet all_walls() { return WallSet(~0u); }

TEST(Grade, AJailWithEveryWallIsAJail) {
  EXPECT_EQ(grade_of(EngineKind::kJail, all_walls()), Grade::kJail);
}

TEST(Grade, AMissingLimitOrSliceLowersIt) {
  for (const Wall wall : {Wall::kUidSlice, Wall::kMemoryLimit, Wall::kSeccomp, Wall::kPidsLimit}) {
    WallSet walls = all_walls();
    walls.remove(wall);
    EXPECT_EQ(grade_of(EngineKind::kJail, walls), Grade::kJailPartial) << wall_name(wall);
  }
}

TEST(Grade, CapabilitiesAreNoneOrBounded) {
  WallSet run = all_walls();
  run.remove(Wall::kBoundedCapabilities);
  EXPECT_EQ(grade_of(EngineKind::kJail, run), Grade::kJail);
  WallSet session = all_walls();
  session.remove(Wall::kNoCapabilities);
  session.remove(Wall::kNoNewPrivileges);
  EXPECT_EQ(grade_of(EngineKind::kJail, session), Grade::kJail);
  for (const Wall wall : {Wall::kNoCapabilities, Wall::kNoNewPrivileges}) {
    WallSet neither = run;
    neither.remove(wall);
    EXPECT_EQ(grade_of(EngineKind::kJail, neither), Grade::kJailPartial) << wall_name(wall);
  }
}

TEST(Grade, LandlockIsOnTopAndDoesNotLowerIt) {
  WallSet walls = all_walls();
  walls.remove(Wall::kLandlock);
  EXPECT_EQ(grade_of(EngineKind::kJail, walls), Grade::kJail);
}

TEST(Grade, TheProcessEngineIsNeverMoreThanProcess) {
  EXPECT_EQ(grade_of(EngineKind::kProcess, all_walls()), Grade::kProcess);
}

TEST(Grade, NamesParseBackAndOrderIsStrength) {
  EXPECT_EQ(*parse_grade("jail-partial"), Grade::kJailPartial);
  EXPECT_EQ(parse_grade("JAIL"), nullptr);
  EXPECT_LT(Grade::kProcess, Grade::kJailPartial);
  EXPECT_LT(Grade::kJailPartial, Grade::kJail);
  EXPECT_LT(Grade::kJail, Grade::kVm);
}

TEST(Sudo, NeedsUidsOfItsOwnAndFilesThatRootOwns) {
  WallSet walls;
  EXPECT_FALSE(can_sudo(walls));
  walls.add(Wall::kUidSlice);
  EXPECT_FALSE(can_sudo(walls));
  for (const Wall files : {Wall::kIdmappedLayers, Wall::kRootOwnedCopies}) {
    WallSet both = walls;
    both.add(files);
    EXPECT_TRUE(can_sudo(both)) << wall_name(files);
    both.remove(Wall::kUidSlice);
    EXPECT_FALSE(can_sudo(both)) << wall_name(files);
  }
}

TEST(WallSet, EveryWallHasItsOwnName) {
  const auto names = all_walls().names();
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), static_cast<std::size_t>(Wall::kCount));
}

TEST(WallSet, UnknownBitsFromTheWireAreDropped) {
  EXPECT_EQ(WallSet(0xffffffffu).bits(), all_walls().bits());
  EXPECT_LT(all_walls().bits(), 0xffffffffu);
}

}  // namespace
}  // namespace glovebox
