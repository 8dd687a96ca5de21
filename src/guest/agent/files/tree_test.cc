// Whole trees: listing, copying, moving, removing; wide, deep and odd ones.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>

#include "guest/agent/files/testing/test_helper.h"

namespace glovebox::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::FileOp;

std::vector<std::string> names_of(const Answer& answer) {
  std::vector<std::string> names;
  for (const wire::FileEntry& entry : answer.entries()) names.push_back(entry.path);
  return names;
}

wire::FileRequest recursive(FileOp op, const std::string& path, const std::string& target = {}) {
  wire::FileRequest request = request_for(op, path, target);
  request.recursive = true;
  return request;
}

// Directories one in another, each of a long name: far beyond what fits into a path.
void make_deep(const std::string& top, int levels) {
  ASSERT_EQ(::mkdir(top.c_str(), 0755), 0);
  UniqueFd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "a-directory", 0755), 0);
    at.reset(::openat(at.get(), "a-directory", O_RDONLY | O_DIRECTORY));
    ASSERT_TRUE(static_cast<bool>(at));
  }
  const UniqueFd file(::openat(at.get(), "bottom", O_CREAT | O_WRONLY, 0644));
  ASSERT_EQ(::write(file.get(), "deep", 4), 4);
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

TEST(ListFiles, GoesAsDeepAsAskedForAndFollowsNoLink) {
  const TestDir dir;
  ASSERT_TRUE(
      shell("cd '" + dir.path() + "' && mkdir -p b/c/d && touch a b/x b/c/y z && ln -s b l"));
  wire::FileRequest request = request_for(FileOp::kList, dir.path());
  EXPECT_THAT(names_of(run_helper(request)), ElementsAre("a", "b", "l", "z"));
  request.depth = 2;
  EXPECT_THAT(names_of(run_helper(request)), ElementsAre("a", "b", "b/c", "b/x", "l", "z"));
  request.depth = 0;
  const Answer all = run_helper(request);
  EXPECT_THAT(names_of(all), ElementsAre("a", "b", "b/c", "b/c/d", "b/c/y", "b/x", "l", "z"));
  EXPECT_EQ(all.done->entries, 8u);
  EXPECT_EQ(all.entries()[6].type, wire::FileType::kSymlink);
  EXPECT_EQ(all.entries()[6].target, "b");
  request.most = 3;
  const Answer cut = run_helper(request);
  EXPECT_THAT(names_of(cut), ElementsAre("a", "b", "b/c"));
  EXPECT_EQ(cut.message(), "truncated");
  EXPECT_EQ(cut.error(), 0);
}

TEST(ListFiles, ReportsEveryKindAndAnyName) {
  const TestDir dir;
  write_whole(dir / odd_name(), "x");
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  if (::mknod((dir / "zero").c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0) {
    GTEST_LOG_(INFO) << "no devices can be made here";
  }
  const Answer answer = run_helper(request_for(FileOp::kList, dir.path()));
  ASSERT_EQ(answer.error(), 0);
  EXPECT_EQ(answer.entries().front().path, odd_name());
  EXPECT_EQ(answer.entries()[1].type, wire::FileType::kFifo);
  EXPECT_EQ(run_helper(request_for(FileOp::kList, dir / "fifo")).error(), ENOTDIR);
  EXPECT_EQ(run_helper(request_for(FileOp::kList, dir / "none")).error(), ENOENT);
}

TEST(ListFiles, ListsAHundredThousandQuicklyAndSorted) {
  const TestDir dir;
  for (int i = 0; i < 100'000; ++i) {
    const UniqueFd file(::open((dir / std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0644));
  }
  const auto begin = std::chrono::steady_clock::now();
  const Answer answer = run_helper(request_for(FileOp::kList, dir.path()));
  const auto took = std::chrono::steady_clock::now() - begin;
  const std::vector<std::string> names = names_of(answer);
  ASSERT_EQ(names.size(), 100'000u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_LT(took, std::chrono::seconds(20));
  EXPECT_EQ(run_helper(recursive(FileOp::kRemove, dir.path())).error(), 0);
  EXPECT_FALSE(exists(dir.path()));
}

TEST(Trees, AreCopiedMovedAndRemovedHoweverDeep) {
  const TestDir dir;
  make_deep(dir / "deep", 2000);
  wire::FileRequest list = request_for(FileOp::kList, dir / "deep");
  list.depth = 0;
  EXPECT_GT(run_helper(list).entries().size(), 600u);  // as far as a record tells
  const Answer copied = run_helper(recursive(FileOp::kCopy, dir / "deep", dir / "copy"));
  ASSERT_EQ(copied.error(), 0) << copied.message();
  EXPECT_EQ(copied.done->entries, 2002u);
  EXPECT_EQ(copied.done->bytes, 4u);
  const Answer removed = run_helper(recursive(FileOp::kRemove, dir / "deep"));
  EXPECT_EQ(removed.error(), 0) << removed.message();
  EXPECT_EQ(removed.done->entries, 2002u);
  EXPECT_FALSE(exists(dir / "deep"));
  EXPECT_EQ(run_helper(recursive(FileOp::kRemove, dir / "copy")).error(), 0);
  EXPECT_FALSE(exists(dir / "copy"));
}

TEST(CopyFile, KeepsLinksFifosHolesModesAndTimes) {
  const TestDir dir;
  ASSERT_TRUE(shell("cd '" + dir.path() +
                    "' && mkdir t t/sub && echo hello > t/f && "
                    "chmod 4751 t/f && ln -s /nowhere t/link && mkfifo -m 640 t/fifo && "
                    "truncate -s 100M t/sparse && chmod 555 t/sub && "
                    "touch -d '2001-02-03 04:05:06' t/f t/sub t"));
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s/t/socket", dir.path().c_str());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const Answer answer = run_helper(recursive(FileOp::kCopy, dir / "t", dir / "u"));
  ASSERT_EQ(answer.error(), 0) << answer.message();
  EXPECT_EQ(answer.entry().type, wire::FileType::kDirectory);
  EXPECT_TRUE(shell("cd '" + dir.path() +
                    "' && rm t/socket && for d in t u; do "
                    "(cd $d && find . -not -name . -printf '%p %y %m %l %s %T@\\n' | sort) "
                    "> $d.list; done && diff t.list u.list"));
  struct stat info {};
  ASSERT_EQ(::stat((dir / "u/sparse").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 100 << 20);
  EXPECT_LT(info.st_blocks * 512, 1 << 20);
}

TEST(CopyFile, KeepsWhatIsBetweenAndBehindHoles) {
  const TestDir dir;
  write_whole(dir / "a", "begin");
  const UniqueFd file(::open((dir / "a").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "middle", 6, 10 << 20), 6);
  ASSERT_EQ(::pwrite(file.get(), "end", 3, 30 << 20), 3);
  ASSERT_EQ(::ftruncate(file.get(), 40 << 20), 0);
  const Answer copied = run_helper(request_for(FileOp::kCopy, dir / "a", dir / "b"));
  ASSERT_EQ(copied.error(), 0) << copied.message();
  EXPECT_TRUE(shell("cd '" + dir.path() + "' && cmp a b"));
  struct stat info {};
  ASSERT_EQ(::stat((dir / "b").c_str(), &info), 0);
  EXPECT_LT(info.st_blocks * 512, 4 << 20);
}

TEST(CopyFile, DoesNotReplaceADirectory) {
  const TestDir dir;
  write_whole(dir / "a", "a");
  ASSERT_EQ(::mkdir((dir / "d").c_str(), 0755), 0);
  EXPECT_EQ(run_helper(request_for(FileOp::kCopy, dir / "a", dir / "d")).error(), EISDIR);
  EXPECT_TRUE(shell("cd '" + dir.path() + "' && test -d d && test $(ls -A | wc -l) = 2"));
}

TEST(CopyFile, RefusesADirectoryIntoItself) {
  const TestDir dir;
  ASSERT_TRUE(shell("mkdir -p '" + (dir / "a/b") + "'"));
  EXPECT_EQ(run_helper(recursive(FileOp::kCopy, dir / "a", dir / "a/b/c")).error(), EINVAL);
  EXPECT_EQ(run_helper(recursive(FileOp::kCopy, dir / "a", dir / "a")).error(), EINVAL);
  EXPECT_FALSE(exists(dir / "a/b/c"));
  EXPECT_EQ(run_helper(request_for(FileOp::kCopy, dir / "a", dir / "n")).error(), EISDIR);
}

TEST(CopyFile, ReplacesOnlyWhenAskedTo) {
  const TestDir dir;
  write_whole(dir / "a", "new");
  write_whole(dir / "b", "old");
  wire::FileRequest request = request_for(FileOp::kCopy, dir / "a", dir / "b");
  request.overwrite = false;
  EXPECT_EQ(run_helper(request).error(), EEXIST);
  EXPECT_EQ(read_whole(dir / "b"), "old");
  request.overwrite = true;
  EXPECT_EQ(run_helper(request).error(), 0);
  EXPECT_EQ(read_whole(dir / "b"), "new");
  EXPECT_EQ(run_helper(request_for(FileOp::kCopy, dir / "a", dir / "a")).error(), EINVAL);
  EXPECT_EQ(read_whole(dir / "a"), "new");
  EXPECT_EQ(run_helper(request_for(FileOp::kCopy, "/dev/zero", dir / "z")).error(), EINVAL);
  EXPECT_EQ(run_helper(recursive(FileOp::kCopy, "/proc/self", dir / "p")).error(), 0);
  EXPECT_TRUE(shell("test -L '" + (dir / "p") + "'"));  // the link, not what it leads to
  EXPECT_EQ(run_helper(recursive(FileOp::kCopy, "/proc/sys", dir / "q")).error(), EACCES);
}

TEST(CopyFile, ReportsThatTheDiskIsFull) {
  const TestDir dir;
  write_whole(dir / "big", std::string(4'000'000, 'x'));
  ASSERT_EQ(::mkdir((dir / "m").c_str(), 0755), 0);
  const auto small_disk = [&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", (dir / "m").c_str(), "tmpfs", 0, "size=1m") != 0) {
      ::_exit(9);
    }
    return -1;
  };
  const auto request = request_for(FileOp::kCopy, dir / "big", dir / "m/big");
  EXPECT_EQ(run_helper(request, "", Commit::kYes, small_disk).error(), ENOSPC);
  const auto move = request_for(FileOp::kMove, dir / "big", dir / "m/big");
  EXPECT_EQ(run_helper(move, "", Commit::kYes, small_disk).error(), ENOSPC);
  EXPECT_TRUE(exists(dir / "big"));
}

TEST(MoveFile, RenamesAndReplacesOnlyWhenAskedTo) {
  const TestDir dir;
  write_whole(dir / "a", "new");
  write_whole(dir / "b", "old");
  wire::FileRequest request = request_for(FileOp::kMove, dir / "a", dir / "b");
  request.overwrite = false;
  EXPECT_EQ(run_helper(request).error(), EEXIST);
  request.overwrite = true;
  const Answer moved = run_helper(request);
  EXPECT_EQ(moved.error(), 0);
  EXPECT_EQ(moved.entry().path, dir / "b");
  EXPECT_EQ(read_whole(dir / "b"), "new");
  EXPECT_FALSE(exists(dir / "a"));
  EXPECT_EQ(run_helper(request).error(), ENOENT);
}

TEST(MoveFile, MovesATreeToAnotherFileSystem) {
  const TestDir dir;
  ASSERT_TRUE(
      shell("cd '" + dir.path() + "' && mkdir -p t/sub && echo x > t/sub/f && ln -s f t/l"));
  char other[] = "/tmp/gbx-files-XXXXXX";
  ASSERT_NE(::mkdtemp(other), nullptr);
  const std::string there = std::string(other) + "/t";
  const Answer moved = run_helper(request_for(FileOp::kMove, dir / "t", there));
  EXPECT_EQ(moved.error(), 0) << moved.message();
  EXPECT_EQ(read_whole(there + "/sub/f"), "x\n");
  EXPECT_FALSE(exists(dir / "t"));
  EXPECT_TRUE(shell(std::string("test \"$(ls -A ") + other + ")\" = t"));
  EXPECT_EQ(run_helper(recursive(FileOp::kRemove, other)).error(), 0);
}

TEST(RemoveFile, RemovesALinkAndNotWhatItLeadsTo) {
  const TestDir dir;
  ASSERT_TRUE(
      shell("cd '" + dir.path() + "' && mkdir keep t && touch keep/f && ln -s ../keep t/l"));
  EXPECT_EQ(run_helper(request_for(FileOp::kRemove, dir / "t")).error(), ENOTEMPTY);
  EXPECT_EQ(run_helper(recursive(FileOp::kRemove, dir / "t")).error(), 0);
  EXPECT_FALSE(exists(dir / "t"));
  EXPECT_TRUE(exists(dir / "keep/f"));
  EXPECT_EQ(run_helper(recursive(FileOp::kRemove, dir / "none")).error(), ENOENT);
  EXPECT_EQ(run_helper(recursive(FileOp::kRemove, "/")).error(), EINVAL);
  EXPECT_EQ(run_helper(recursive(FileOp::kRemove, dir / "keep/..")).error(), EINVAL);
  EXPECT_TRUE(exists(dir / "keep/f"));
}

}  // namespace
}  // namespace glovebox::agent
