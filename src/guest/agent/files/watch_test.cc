// Watches: every change is reported once, with its path, in order.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/agent/files/new_file.h"
#include "guest/agent/files/testing/test_helper.h"

namespace glovebox::agent {
namespace {

using wire::FileOp;
using wire::WatchEvent;
using wire::WatchKind;

wire::FileRequest watch(const std::string& path, bool recursive) {
  wire::FileRequest request = request_for(FileOp::kWatch, path);
  request.recursive = recursive;
  return request;
}

#define EXPECT_NEXT(helper, ...)                                                          \
  do {                                                                                    \
    const WatchEvent expected = WatchEvent __VA_ARGS__;                                   \
    const auto got = (helper).next_event();                                               \
    ASSERT_TRUE(got.has_value());                                                         \
    EXPECT_EQ(static_cast<int>(got->kind), static_cast<int>(expected.kind)) << got->path; \
    EXPECT_EQ(got->path, expected.path);                                                  \
    EXPECT_EQ(got->to, expected.to);                                                      \
    EXPECT_EQ(got->directory, expected.directory);                                        \
  } while (false)

TEST(WatchFiles, ReportsEventsInADirectory) {
  const TestDir dir;
  ASSERT_EQ(::mkdir((dir / "sub").c_str(), 0755), 0);
  TestHelper helper(watch(dir.path(), false));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  write_whole(dir / odd_name(), "x");
  EXPECT_NEXT(helper, {WatchKind::kCreated, false, odd_name(), ""});
  EXPECT_NEXT(helper, {WatchKind::kWritten, false, odd_name(), ""});
  ASSERT_EQ(::rename((dir / odd_name()).c_str(), (dir / "b").c_str()), 0);
  EXPECT_NEXT(helper, {WatchKind::kRenamed, false, odd_name(), "b"});
  ASSERT_EQ(::chmod((dir / "b").c_str(), 0600), 0);
  EXPECT_NEXT(helper, {WatchKind::kAttribute, false, "b", ""});
  write_whole(dir / "sub/unseen", "x");
  ASSERT_EQ(::rename((dir / "b").c_str(), (dir / "sub/b").c_str()),
            0);  // to a directory that is not watched
  EXPECT_NEXT(helper, {WatchKind::kRemoved, false, "b", ""});
  ASSERT_EQ(::rename((dir / "sub/b").c_str(), (dir / "c").c_str()), 0);
  EXPECT_NEXT(helper, {WatchKind::kCreated, false, "c", ""});
  ASSERT_EQ(::unlink((dir / "c").c_str()), 0);
  EXPECT_NEXT(helper, {WatchKind::kRemoved, false, "c", ""});
  helper.close_data();
  EXPECT_EQ(helper.finish().error(), 0);
}

TEST(WatchFiles, SeesWhatIsMadeInNewDirectories) {
  const TestDir dir;
  TestHelper helper(watch(dir.path(), true));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  ASSERT_TRUE(shell("cd '" + dir.path() + "' && mkdir -p a/b/c && echo x > a/b/c/f"));
  EXPECT_NEXT(helper, {WatchKind::kCreated, true, "a", ""});
  EXPECT_NEXT(helper, {WatchKind::kCreated, true, "a/b", ""});
  EXPECT_NEXT(helper, {WatchKind::kCreated, true, "a/b/c", ""});
  EXPECT_NEXT(helper, {WatchKind::kCreated, false, "a/b/c/f", ""});
  EXPECT_NEXT(helper, {WatchKind::kWritten, false, "a/b/c/f", ""});
  // A directory that is renamed is watched under its new name.
  ASSERT_EQ(::rename((dir / "a/b").c_str(), (dir / "n").c_str()), 0);
  std::optional<WatchEvent> event = helper.next_event();
  while (event && event->kind == WatchKind::kWritten) event = helper.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->path, "a/b");
  EXPECT_EQ(event->to, "n");
  ASSERT_EQ(::unlink((dir / "n/c/f").c_str()), 0);
  EXPECT_NEXT(helper, {WatchKind::kRemoved, false, "n/c/f", ""});
}

TEST(WatchFiles, ReportsManyNewDirectoriesCompletelyAndOnce) {
  const TestDir dir;
  TestHelper helper(watch(dir.path(), true));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  ASSERT_TRUE(shell("cd '" + dir.path() +
                    "' && for i in $(seq 200); do mkdir -p d$i/e && : > d$i/e/f; done; : > end"));
  std::map<std::string, int> created;
  for (;;) {
    const auto event = helper.next_event();
    ASSERT_TRUE(event);
    if (event->kind == WatchKind::kCreated) ++created[event->path];
    if (event->path == "end") break;
  }
  EXPECT_EQ(created.size(), 601u);
  for (const auto& [path, times] : created) EXPECT_EQ(times, 1) << path;
}

TEST(WatchFiles, ReportsAFileThatAHelperReplacesAsTruncatedAndWritten) {
  const TestDir dir;
  write_whole(dir / "a", "old");
  TestHelper helper(watch(dir.path(), false));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  ASSERT_EQ(run_helper(request_for(FileOp::kWrite, dir / "a"), "new").error(), 0);
  EXPECT_NEXT(helper, {WatchKind::kWritten, false, "a", ""});
  EXPECT_NEXT(helper, {WatchKind::kAttribute, false, "a", ""});
  EXPECT_NEXT(helper, {WatchKind::kWritten, false, "a", ""});
  write_whole(dir / "end", "");
  EXPECT_NEXT(helper, {WatchKind::kCreated, false, "end", ""});
}

TEST(WatchFiles, ReportsANewFileOfAHelperAsCreatedChangedAndWritten) {
  const TestDir dir;
  TestHelper helper(watch(dir.path(), true));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  ASSERT_EQ(run_helper(request_for(FileOp::kWrite, dir / "a"), "new").error(), 0);
  EXPECT_NEXT(helper, {WatchKind::kCreated, false, "a", ""});
  EXPECT_NEXT(helper, {WatchKind::kAttribute, false, "a", ""});
  EXPECT_NEXT(helper, {WatchKind::kWritten, false, "a", ""});
  ASSERT_EQ(run_helper(request_for(FileOp::kWrite, dir / "empty"), "").error(), 0);
  EXPECT_NEXT(helper, {WatchKind::kCreated, false, "empty", ""});
  EXPECT_NEXT(helper, {WatchKind::kAttribute, false, "empty", ""});
  ASSERT_EQ(::link((dir / "a").c_str(), (dir / "b").c_str()), 0);
  EXPECT_NEXT(helper, {WatchKind::kCreated, false, "b", ""});
  ASSERT_EQ(::unlink((dir / "b").c_str()), 0);
  std::optional<WatchEvent> event = helper.next_event();
  while (event && event->kind == WatchKind::kAttribute) event = helper.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->path, "b");
  EXPECT_EQ(static_cast<int>(event->kind), static_cast<int>(WatchKind::kRemoved));
}

TEST(WatchFiles, AMarkFollowsAllThatHappenedBefore) {
  const TestDir dir;
  TestHelper helper(watch(dir.path(), true));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  for (int round = 0; round < 200; ++round) {
    const std::string name = "f" + std::to_string(round);
    ASSERT_EQ(run_helper(request_for(FileOp::kWrite, dir / name), "x").error(), 0);
    helper.ask_for_mark();
    EXPECT_NEXT(helper, {WatchKind::kCreated, false, name, ""});
    EXPECT_NEXT(helper, {WatchKind::kAttribute, false, name, ""});
    EXPECT_NEXT(helper, {WatchKind::kWritten, false, name, ""});
    EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  }
  // Half of a move, out of the tree, is reported before the mark, too.
  const TestDir other;
  ASSERT_EQ(::rename((dir / "f0").c_str(), (other / "f0").c_str()), 0);
  helper.ask_for_mark();
  helper.ask_for_mark();
  EXPECT_NEXT(helper, {WatchKind::kRemoved, false, "f0", ""});
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
}

TEST(WatchFiles, EndsWithWhatIsWatched) {
  const TestDir dir;
  write_whole(dir / "f", "x");
  TestHelper file(watch(dir / "f", false));
  EXPECT_NEXT(file, {WatchKind::kReady, false, "", ""});
  write_whole(dir / "f", "y");
  EXPECT_NEXT(file, {WatchKind::kWritten, false, "", ""});
  ASSERT_EQ(::unlink((dir / "f").c_str()), 0);
  EXPECT_NEXT(file, {WatchKind::kRemoved, false, "", ""});
  EXPECT_EQ(file.finish().error(), 0);
  ASSERT_EQ(::mkdir((dir / "d").c_str(), 0755), 0);
  TestHelper directory(watch(dir / "d", true));
  EXPECT_NEXT(directory, {WatchKind::kReady, false, "", ""});
  ASSERT_EQ(::rmdir((dir / "d").c_str()), 0);
  EXPECT_NEXT(directory, {WatchKind::kRemoved, true, "", ""});
  EXPECT_EQ(directory.finish().error(), 0);
  EXPECT_EQ(run_helper(watch(dir / "none", false)).error(), ENOENT);
  EXPECT_EQ(run_helper(watch("/proc/self", true)).error(), EACCES);
}

TEST(WatchFiles, WritesInARowAreReportedOnce) {
  const TestDir dir;
  write_whole(dir / "a", "");
  TestHelper helper(watch(dir.path(), false));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  const UniqueFd file(::open((dir / "a").c_str(), O_WRONLY | O_CLOEXEC));
  // Marks make it read the events one by one.
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(::write(file.get(), "x", 1), 1);
    helper.ask_for_mark();
    if (i == 0) EXPECT_NEXT(helper, {WatchKind::kWritten, false, "a", ""});
    EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  }
  ASSERT_EQ(::fchmod(file.get(), 0600), 0);
  EXPECT_NEXT(helper, {WatchKind::kAttribute, false, "a", ""});
  ASSERT_EQ(::write(file.get(), "x", 1), 1);
  EXPECT_NEXT(helper, {WatchKind::kWritten, false, "a", ""});
}

TEST(WatchFiles, TheEndOfADirectoryInsideIsNotThatOfTheWatch) {
  const TestDir dir;
  ASSERT_TRUE(shell("mkdir -p '" + (dir / "a/b") + "'"));
  TestHelper helper(watch(dir.path(), true));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  ASSERT_EQ(::rmdir((dir / "a/b").c_str()), 0);
  EXPECT_NEXT(helper, {WatchKind::kRemoved, true, "a/b", ""});
  ASSERT_EQ(::chmod((dir / "a").c_str(), 0700), 0);
  std::optional<WatchEvent> event = helper.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->path, "a");
  // And what is made again is watched again.
  ASSERT_TRUE(shell("mkdir '" + (dir / "a/b") + "' && mkdir '" + (dir / "a/b/c") + "'"));
  EXPECT_NEXT(helper, {WatchKind::kCreated, true, "a/b", ""});
  EXPECT_NEXT(helper, {WatchKind::kCreated, true, "a/b/c", ""});
}

TEST(WatchFiles, ATemporaryFileThatIsMovedInIsNotReported) {
  const TestDir dir;
  const TestDir other;
  TestHelper helper(watch(dir.path(), false));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  const std::string temporary = temporary_name();
  write_whole(other / temporary, "x");
  ASSERT_EQ(::rename((other / temporary).c_str(), (dir / temporary).c_str()), 0);
  ASSERT_EQ(::rename((dir / temporary).c_str(), (other / "away").c_str()), 0);
  write_whole(dir / "end", "");
  EXPECT_NEXT(helper, {WatchKind::kCreated, false, "end", ""});
}

TEST(WatchFiles, ReportsThatSomeWereLost) {
  const TestDir dir;
  TestHelper helper(watch(dir.path(), true));
  EXPECT_NEXT(helper, {WatchKind::kReady, false, "", ""});
  // There is no reader: the pipe fills up, then the kernel's queue. A name is long, a queue is not.
  const std::string name(200, 'n');
  for (int i = 0; i < 60'000; ++i) {
    const std::string path = dir / (name + std::to_string(i % 500));
    const UniqueFd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    ASSERT_EQ(::unlink(path.c_str()), 0);
  }
  bool lost = false;
  while (!lost) {
    const auto event = helper.next_event();
    ASSERT_TRUE(event);
    lost = event->kind == WatchKind::kOverflow;
  }
  // And it goes on.
  ASSERT_EQ(::mkdir((dir / "new").c_str(), 0755), 0);
  write_whole(dir / "new/end", "");
  for (;;) {
    const auto event = helper.next_event();
    ASSERT_TRUE(event);
    if (event->path == "new/end") break;
  }
}

}  // namespace
}  // namespace glovebox::agent
