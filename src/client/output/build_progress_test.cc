#include "client/output/build_progress.h"

#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

TEST(BuildProgress, PrintsEachPhaseOnceAndEveryLine) {
  BuildProgress progress;
  EXPECT_EQ(progress.add("resolving", ""), "glovebox: packages: resolving and downloading\n");
  EXPECT_EQ(progress.add("resolving", "Collecting good"), "  Collecting good\n");
  EXPECT_EQ(progress.add("installing", "Installing good\nand more"),
            "glovebox: packages: installing\n  Installing good\n  and more\n");
  EXPECT_EQ(progress.add("warming", ""), "glovebox: packages: starting an interpreter\n");
  EXPECT_EQ(progress.add("ready", ""), "");
}

TEST(BuildProgress, PrintsNothingForAnInstalledSet) {
  BuildProgress progress;
  EXPECT_EQ(progress.add("warming", ""), "");
  EXPECT_EQ(progress.add("warming", "runs are cold: that takes cgroups"), "");
  EXPECT_EQ(progress.add("ready", ""), "");
}

TEST(BuildProgress, ColdStartReasonIsOneLine) {
  BuildProgress progress;
  progress.add("installing", "");
  progress.add("warming", "");
  EXPECT_EQ(progress.add("warming", "runs are cold: its runs start cold: that takes cgroups"),
            "glovebox: packages: runs with these packages start cold: that takes cgroups\n");
  EXPECT_EQ(progress.add("warming", "runs are cold: Traceback:\n  line 1\nImportError: nosuch\n"),
            "glovebox: packages: runs with these packages start cold: ImportError: nosuch\n");
}

TEST(BuildProgress, FailureMessageIsNotRepeated) {
  BuildProgress progress;
  EXPECT_EQ(progress.failure_message("ERROR: no such package\nERROR: none"),
            "ERROR: no such package\nERROR: none");
  progress.add("resolving", "ERROR: no such package");
  progress.add("resolving", "ERROR: none");
  EXPECT_EQ(progress.failure_message("ERROR: no such package\nERROR: none\n"),
            "the packages could not be installed");
  EXPECT_EQ(progress.failure_message("pip: ERROR: no such package\nERROR: none\n"),
            "the packages could not be installed");
  EXPECT_EQ(progress.failure_message("took too long\nERROR: none"), "took too long");
}

TEST(BuildProgress, EscapesControlCharacters) {
  BuildProgress progress;
  for (const char c : progress.add("re\x1b[2J", "a\x1b]0;evil\x07\r\nb\x9b") +
                          progress.add("warming", "a\x1b]0;evil\x07\r\nb\x9b")) {
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace glovebox::client
