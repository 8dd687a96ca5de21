#include "client/exec/detach_keys.h"

#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

TEST(DetachKeys, PassesOrdinaryKeysOn) {
  DetachKeys keys;
  EXPECT_EQ(keys.filter("ls\n"), "ls\n");
  EXPECT_FALSE(keys.found());
}

TEST(DetachKeys, FindsThemAlsoInTwoPieces) {
  DetachKeys keys;
  EXPECT_EQ(keys.filter("a\x10"), "a");
  EXPECT_EQ(keys.filter("\x11more"), "");
  EXPECT_TRUE(keys.found());
}

TEST(DetachKeys, GivesBackAFirstKeyThatWasMeant) {
  DetachKeys keys;
  EXPECT_EQ(keys.filter("\x10\x10x"), "\x10\x10x");
  EXPECT_FALSE(keys.found());
}

}  // namespace
}  // namespace glovebox::client
