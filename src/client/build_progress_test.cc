#include "client/build_progress.h"

#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

TEST(BuildProgress, EachPhaseOnceAndEveryLine) {
  BuildProgress progress;
  EXPECT_EQ(progress.add("resolving", ""), "glovebox: packages: asks the index and downloads\n");
  EXPECT_EQ(progress.add("resolving", "Collecting good"), "  Collecting good\n");
  EXPECT_EQ(progress.add("installing", "Installing good"),
            "glovebox: packages: installs\n  Installing good\n");
  EXPECT_EQ(progress.add("ready", ""), "");
}

TEST(BuildProgress, NothingOfAStrangersReachesTheTerminalAsItIs) {
  BuildProgress progress;
  for (const char c : progress.add("re\x1b[2J", "a\x1b]0;evil\x07\r\nb\x9b")) {
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace glovebox::client
