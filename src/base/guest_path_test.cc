#include "base/guest_path.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(GuestPath, FoldsSlashesAndDots) {
  EXPECT_EQ(GuestPath::parse("//a/./b//").value().str(), "/a/b");
  EXPECT_EQ(GuestPath::parse("/").value().str(), "/");
}

TEST(GuestPath, ARelativePathIsBelowHome) {
  EXPECT_EQ(GuestPath::parse("data/in.csv").value().str(), "/home/user/data/in.csv");
}

TEST(GuestPath, RefusesWhatCouldClimbOrCut) {
  EXPECT_FALSE(GuestPath::parse("/a/../b"));
  EXPECT_FALSE(GuestPath::parse(".."));
  EXPECT_FALSE(GuestPath::parse(""));
  EXPECT_FALSE(GuestPath::parse(std::string_view("/a\0b", 4)));
  EXPECT_FALSE(GuestPath::parse("/" + std::string(256, 'x')));
  EXPECT_FALSE(GuestPath::parse(std::string(3000, '/') + std::string(600, 'a') + "/b"));
}

}  // namespace
}  // namespace glovebox
