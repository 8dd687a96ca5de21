#include "client/output/build_progress.h"

#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

TEST(BuildProgress, EachPhaseOnceAndEveryLine) {
  BuildProgress progress;
  EXPECT_EQ(progress.add("resolving", ""), "glovebox: packages: asks the index and downloads\n");
  EXPECT_EQ(progress.add("resolving", "Collecting good"), "  Collecting good\n");
  EXPECT_EQ(progress.add("installing", "Installing good\nand more"),
            "glovebox: packages: installs\n  Installing good\n  and more\n");
  EXPECT_EQ(progress.add("warming", ""), "glovebox: packages: starts an interpreter\n");
  EXPECT_EQ(progress.add("ready", ""), "");
}

TEST(BuildProgress, WhatIsThereAlreadyIsNothingToSpeakOf) {
  BuildProgress progress;
  EXPECT_EQ(progress.add("warming", ""), "");
  EXPECT_EQ(progress.add("warming", "runs are cold: that takes cgroups"), "");
  EXPECT_EQ(progress.add("ready", ""), "");
}

TEST(BuildProgress, WhyRunsAreColdIsOneLine) {
  BuildProgress progress;
  progress.add("installing", "");
  progress.add("warming", "");
  EXPECT_EQ(progress.add("warming", "runs are cold: its runs start cold: that takes cgroups"),
            "glovebox: packages: runs with them start cold: that takes cgroups\n");
  EXPECT_EQ(progress.add("warming", "runs are cold: Traceback:\n  line 1\nImportError: nosuch\n"),
            "glovebox: packages: runs with them start cold: ImportError: nosuch\n");
}

TEST(BuildProgress, AFailuresWordsAreSaidOnce) {
  BuildProgress progress;
  EXPECT_EQ(progress.failure_words("ERROR: no such package\nERROR: none"),
            "ERROR: no such package\nERROR: none");
  progress.add("resolving", "ERROR: no such package");
  progress.add("resolving", "ERROR: none");
  EXPECT_EQ(progress.failure_words("ERROR: no such package\nERROR: none\n"),
            "the packages could not be installed");
  EXPECT_EQ(progress.failure_words("pip: ERROR: no such package\nERROR: none\n"),
            "the packages could not be installed");
  EXPECT_EQ(progress.failure_words("took too long\nERROR: none"), "took too long");
}

TEST(BuildProgress, NothingOfAStrangersReachesTheTerminalAsItIs) {
  BuildProgress progress;
  for (const char c : progress.add("re\x1b[2J", "a\x1b]0;evil\x07\r\nb\x9b") +
                          progress.add("warming", "a\x1b]0;evil\x07\r\nb\x9b")) {
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace glovebox::client
