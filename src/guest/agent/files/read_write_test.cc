// Reading, writing, looking: one file at a time.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "guest/agent/files/testing/test_helper.h"
#include "guest/agent/files/user_names.h"

namespace glovebox::agent {
namespace {

using ::testing::HasSubstr;
using wire::FileOp;

unsigned mode_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777u : 0;
}

bool is_empty(const std::string& dir) { return shell("test -z \"$(ls -A '" + dir + "')\""); }

TEST(ReadFile, GivesTheEntryAndThenTheBytes) {
  const TestDir dir;
  std::string content(3'000'000, 'x');
  for (std::size_t i = 0; i < content.size(); i += 7) content[i] = static_cast<char>(i);
  write_whole(dir / "a", content);
  const Answer answer = run_helper(request_for(FileOp::kRead, dir / "a"));
  ASSERT_EQ(answer.error(), 0) << answer.message();
  ASSERT_TRUE(answer.opened);
  const auto entry = wire::decode_file_entry(answer.opened->entry.substr(4)).value();
  EXPECT_EQ(entry.size, content.size());
  EXPECT_EQ(entry.path, dir / "a");
  EXPECT_EQ(entry.user, "root");
  EXPECT_EQ(answer.data, content);
  EXPECT_EQ(answer.done->bytes, content.size());
}

TEST(ReadFile, GivesTheRangeThatWasAskedFor) {
  const TestDir dir;
  write_whole(dir / "a", "0123456789");
  wire::FileRequest request = request_for(FileOp::kRead, dir / "a");
  request.from = 3;
  request.most = 4;
  EXPECT_EQ(run_helper(request).data, "3456");
  request.most = UINT64_MAX;
  EXPECT_EQ(run_helper(request).data, "3456789");
  request.from = UINT64_MAX;
  const Answer beyond = run_helper(request);
  EXPECT_EQ(beyond.error(), 0);
  EXPECT_EQ(beyond.data, "");
}

TEST(ReadFile, ReadsHolesAsZeros) {
  const TestDir dir;
  write_whole(dir / "a", "begin");
  ASSERT_EQ(::truncate((dir / "a").c_str(), 5'000'000), 0);
  const Answer answer = run_helper(request_for(FileOp::kRead, dir / "a"));
  EXPECT_EQ(answer.data, "begin" + std::string(5'000'000 - 5, '\0'));
}

TEST(ReadFile, HasAnErrorWithoutOpenedForWhatIsNoRegularFile) {
  const TestDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/proc/self/environ", (dir / "link").c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/exe", (dir / "magic").c_str()), 0);
  struct Case {
    std::string path;
    int error;
  };
  const Case cases[] = {{dir / "fifo", EINVAL},
                        {dir.path(), EISDIR},
                        {dir / "none", ENOENT},
                        {"/dev/null", EINVAL},
                        {"/dev/zero", EINVAL},
                        {"/proc/self/environ", EACCES},
                        {dir / "link", EACCES},
                        {dir / "magic", ELOOP},
                        {"/proc/self/root/etc", ELOOP},
                        {"/proc/self/maps", EACCES},
                        {"/proc/thread-self/status", EACCES}};
  for (const Case& each : cases) {
    const Answer answer = run_helper(request_for(FileOp::kRead, each.path));
    EXPECT_EQ(answer.error(), each.error) << each.path << ": " << answer.message();
    EXPECT_FALSE(answer.opened);
    EXPECT_THAT(answer.message(), HasSubstr("read " + each.path + ": "));
    EXPECT_EQ(answer.data, "");
  }
}

TEST(ReadFile, ReadsFilesInProcThatAreNotItsOwn) {
  const TestDir dir;
  ASSERT_EQ(::symlink("/proc/sys/kernel/ostype", (dir / "link").c_str()), 0);
  for (const std::string& path : {std::string("/proc/sys/kernel/ostype"), dir / "link"}) {
    const Answer answer = run_helper(request_for(FileOp::kRead, path));
    ASSERT_EQ(answer.error(), 0) << answer.message();
    EXPECT_EQ(answer.data, "Linux\n");
    EXPECT_EQ(answer.entry().size, 6u);
  }
  wire::FileRequest part = request_for(FileOp::kRead, "/proc/sys/kernel/ostype");
  part.from = 2;
  part.most = 2;
  EXPECT_EQ(run_helper(part).data, "nu");
  EXPECT_THAT(run_helper(request_for(FileOp::kRead, "/proc/mounts")).data, HasSubstr("proc"));
  EXPECT_THAT(run_helper(request_for(FileOp::kRead, "/proc/net/dev")).data, HasSubstr("lo:"));
  const std::string status = "/proc/" + std::to_string(::getpid()) + "/status";
  EXPECT_THAT(run_helper(request_for(FileOp::kRead, status)).data, HasSubstr("Name:"));
}

TEST(ReadFile, ReadsFilesInProcUpToAMegabyte) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::vector<std::string> words(20, std::string(100'000, 'x'));
    std::vector<char*> argv = {const_cast<char*>("sleep"), const_cast<char*>("60")};
    std::vector<char*> envp;
    for (std::string& word : words) envp.push_back(word.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    ::execve("/bin/sleep", argv.data(), envp.data());
    ::_exit(1);
  }
  const std::string environ = "/proc/" + std::to_string(pid) + "/environ";
  ASSERT_TRUE(shell("for i in $(seq 500); do test $(cat " + environ +
                    " | wc -c) -gt 1500000 && exit 0; done; exit 1"));
  const Answer answer = run_helper(request_for(FileOp::kRead, environ));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(answer.error(), EFBIG) << answer.message();
  EXPECT_FALSE(answer.opened);
}

TEST(ReadFile, ALongMessageKeepsItsTwoEnds) {
  const auto message_of = [](std::size_t size) {
    const std::string before = "read ";
    const std::string behind = ": No such file or directory";
    std::string path = "/gbx-none/";
    path += std::string(size - before.size() - behind.size() - path.size(), 'x');
    return std::pair(before + path + behind,
                     run_helper(request_for(FileOp::kRead, path)).message());
  };
  const auto [fits, said] = message_of(200);
  EXPECT_EQ(said, fits);
  const auto [longer, cut] = message_of(201);
  EXPECT_EQ(cut, longer.substr(0, 100) + "..." + longer.substr(101));
}

TEST(ReadFile, EndsWithoutAReader) {
  const TestDir dir;
  write_whole(dir / "a", std::string(8'000'000, 'x'));
  TestHelper helper(request_for(FileOp::kRead, dir / "a"));
  helper.close_data();
  EXPECT_EQ(helper.finish().error(), EPIPE);
}

TEST(WriteFile, CreatesParentsAndTheFile) {
  const TestDir dir;
  const std::string content(2'500'000, 'y');
  const std::string path = dir / ("a/b/" + odd_name());
  const Answer answer = run_helper(request_for(FileOp::kWrite, path), content);
  ASSERT_EQ(answer.error(), 0) << answer.message();
  EXPECT_TRUE(answer.opened);
  EXPECT_EQ(read_whole(path), content);
  EXPECT_EQ(mode_of(path), 0644u);
  EXPECT_EQ(mode_of(dir / "a"), 0755u);
  EXPECT_EQ(answer.entry().path, path);
  EXPECT_EQ(answer.entry().size, content.size());
  EXPECT_EQ(answer.done->bytes, content.size());
  EXPECT_TRUE(shell("test $(ls -A '" + (dir / "a/b") + "' | wc -l) -ge 1"));
}

TEST(WriteFile, LeavesNothingWithoutACommit) {
  const TestDir dir;
  const Answer fresh = run_helper(request_for(FileOp::kWrite, dir / "a"), "new", Commit::kNo);
  EXPECT_EQ(fresh.error(), ECANCELED);
  EXPECT_TRUE(is_empty(dir.path()));
  write_whole(dir / "b", "old");
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, dir / "b"), "new", Commit::kNo).error(),
            ECANCELED);
  EXPECT_EQ(read_whole(dir / "b"), "old");
}

TEST(WriteFile, KeepsTheModeAndOwnerOfWhatItReplaces) {
  const TestDir dir;
  write_whole(dir / "a", "old");
  ASSERT_EQ(::chown((dir / "a").c_str(), 1234, 2345), 0);
  ASSERT_EQ(::chmod((dir / "a").c_str(), 0751), 0);
  ASSERT_EQ(run_helper(request_for(FileOp::kWrite, dir / "a"), "new").error(), 0);
  struct stat info {};
  ASSERT_EQ(::stat((dir / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234u);
  EXPECT_EQ(info.st_gid, 2345u);
  EXPECT_EQ(info.st_mode & 07777u, 0751u);
  EXPECT_EQ(read_whole(dir / "a"), "new");
}

TEST(WriteFile, GivesTheModeAndOwnerThatWereAskedFor) {
  const TestDir dir;
  wire::FileRequest request = request_for(FileOp::kWrite, dir / "made/a");
  request.mode = 04711;
  request.owner = "nobody:12";
  const Answer answer = run_helper(request, "x");
  ASSERT_EQ(answer.error(), 0) << answer.message();
  EXPECT_EQ(mode_of(dir / "made/a"), 04711u);
  EXPECT_EQ(answer.entry().user, "nobody");
  EXPECT_EQ(answer.entry().gid, 12u);
  struct stat info {};
  ASSERT_EQ(::stat((dir / "made").c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, 12u);
  request.owner = "no such user";
  EXPECT_EQ(run_helper(request, "x").error(), EINVAL);
}

TEST(WriteFile, RefusesWhatExistsWhenAskedTo) {
  const TestDir dir;
  write_whole(dir / "a", "old");
  wire::FileRequest request = request_for(FileOp::kWrite, dir / "a");
  request.overwrite = false;
  EXPECT_EQ(run_helper(request, "new").error(), EEXIST);
  EXPECT_EQ(read_whole(dir / "a"), "old");
  request.path = dir / "b";
  EXPECT_EQ(run_helper(request, "new").error(), 0);
  EXPECT_EQ(read_whole(dir / "b"), "new");
}

TEST(WriteFile, DoesNotReplaceWhatCameMeanwhile) {
  const TestDir dir;
  wire::FileRequest request = request_for(FileOp::kWrite, dir / "a");
  request.overwrite = false;
  TestHelper helper(request);
  helper.send("new");
  write_whole(dir / "a", "theirs");
  helper.close_data();
  helper.commit(Commit::kYes);
  EXPECT_EQ(helper.finish().error(), EEXIST);
  EXPECT_EQ(read_whole(dir / "a"), "theirs");
}

TEST(WriteFile, GoesThroughALinkAsAProgramWould) {
  const TestDir dir;
  ASSERT_EQ(::mkdir((dir / "there").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("there/../there/file", (dir / "link").c_str()), 0);
  ASSERT_EQ(run_helper(request_for(FileOp::kWrite, dir / "link"), "x").error(), 0);
  EXPECT_EQ(read_whole(dir / "there/file"), "x");
  EXPECT_TRUE(shell("test -L '" + (dir / "link") + "'"));
  ASSERT_EQ(::symlink("loop", (dir / "loop").c_str()), 0);
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, dir / "loop"), "x").error(), ELOOP);
}

TEST(WriteFile, RefusesWhatIsNoRegularFile) {
  const TestDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/proc/self/fd/1", (dir / "magic").c_str()), 0);
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, dir / "fifo"), "x").error(), EINVAL);
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, "/dev/null"), "x").error(), EINVAL);
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, dir.path()), "x").error(), EISDIR);
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, "/"), "x").error(), EISDIR);
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, dir / "magic"), "x").error(), EACCES);
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, "/proc/self/comm"), "x").error(), EACCES);
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, dir / "fifo/x"), "x").error(), ENOTDIR);
}

TEST(WriteFile, ReportsThatTheDiskIsFull) {
  const TestDir dir;
  const auto small_disk = [&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      ::_exit(9);
    }
    return -1;
  };
  const Answer answer = run_helper(request_for(FileOp::kWrite, dir / "a"),
                                   std::string(4'000'000, 'x'), Commit::kYes, small_disk);
  EXPECT_EQ(answer.error(), ENOSPC);
  EXPECT_EQ(answer.message(), "write " + (dir / "a") + ": No space left on device");
}

// Such a place is a directory of the host's, where a setuid file would be one.
TEST(WriteFile, LeavesNoSetuidFileWhereTheyDoNotCount) {
  const TestDir dir;
  const auto nosuid = [&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(dir.path().c_str(), dir.path().c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        ::mount("", dir.path().c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_NOSUID, nullptr) != 0) {
      ::_exit(9);
    }
    return -1;
  };
  wire::FileRequest request = request_for(FileOp::kWrite, dir / "inside");
  request.mode = 06755;
  ASSERT_EQ(run_helper(request, "x", Commit::kYes, nosuid).error(), 0);
  EXPECT_EQ(mode_of(dir / "inside"), 0755u);
  request = request_for(FileOp::kMakeDir, dir / "directory");
  request.mode = 02777;
  ASSERT_EQ(run_helper(request, "", Commit::kYes, nosuid).error(), 0);
  EXPECT_EQ(mode_of(dir / "directory"), 0777u);
  // Elsewhere they can be made, as packages need.
  request = request_for(FileOp::kWrite, dir / "own");
  request.mode = 06755;
  ASSERT_EQ(run_helper(request, "x").error(), 0);
  EXPECT_EQ(mode_of(dir / "own"), 06755u);
}

TEST(WriteFile, ReplacesAFileThatRunsAndKeepsOneThatMayNotBeWritten) {
  const TestDir dir;
  ASSERT_TRUE(shell("cp /bin/sleep '" + (dir / "run") + "'"));
  ASSERT_EQ(run_helper(request_for(FileOp::kWrite, dir / "run"), "x").error(), 0);
  EXPECT_EQ(read_whole(dir / "run"), "x");
  EXPECT_EQ(mode_of(dir / "run"), 0755u);
  const auto become_nobody = [] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(9);
    return -1;
  };
  ASSERT_EQ(::chmod(dir.path().c_str(), 0777), 0);
  write_whole(dir / "roots", "old");
  ASSERT_EQ(::chmod((dir / "roots").c_str(), 0644), 0);
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, dir / "roots"), "x", Commit::kYes, become_nobody)
                .error(),
            EACCES);
  EXPECT_EQ(read_whole(dir / "roots"), "old");
  EXPECT_EQ(run_helper(request_for(FileOp::kWrite, dir / "own"), "x", Commit::kYes, become_nobody)
                .error(),
            0);
}

TEST(StatFile, FollowsALinkOnlyWhenAskedTo) {
  const TestDir dir;
  write_whole(dir / "a", "abc");
  ASSERT_EQ(::symlink("a", (dir / "link").c_str()), 0);
  wire::FileRequest request = request_for(FileOp::kStat, dir / "link");
  EXPECT_EQ(run_helper(request).entry().size, 3u);
  request.follow = false;
  EXPECT_EQ(run_helper(request).entry().type, wire::FileType::kSymlink);
  EXPECT_EQ(run_helper(request).entry().target, "a");
  EXPECT_EQ(run_helper(request_for(FileOp::kStat, dir / "none")).error(), ENOENT);
  EXPECT_EQ(run_helper(request_for(FileOp::kStat, "/dev/null")).entry().type,
            wire::FileType::kCharDevice);
}

TEST(StatFile, ReportsAnyTime) {
  const TestDir dir;
  write_whole(dir / "a", "");
  const timespec times[2] = {{INT64_MAX, 0}, {INT64_MAX, 999'999'999}};
  (void)::utimensat(AT_FDCWD, (dir / "a").c_str(), times, 0);
  EXPECT_EQ(run_helper(request_for(FileOp::kStat, dir / "a")).error(), 0);
}

TEST(MakeDirectory, MakesItWithItsParentsOnce) {
  const TestDir dir;
  wire::FileRequest request = request_for(FileOp::kMakeDir, dir / "a/b/c");
  request.mode = 0700;
  const Answer made = run_helper(request);
  ASSERT_EQ(made.error(), 0) << made.message();
  EXPECT_EQ(made.done->entries, 1u);
  EXPECT_EQ(mode_of(dir / "a/b/c"), 0700u);
  request.mode = 0755;
  const Answer again = run_helper(request);
  EXPECT_EQ(again.error(), 0);
  EXPECT_EQ(again.done->entries, 0u);
  EXPECT_EQ(mode_of(dir / "a/b/c"), 0700u);
  write_whole(dir / "file", "");
  EXPECT_EQ(run_helper(request_for(FileOp::kMakeDir, dir / "file")).error(), EEXIST);
  EXPECT_EQ(run_helper(request_for(FileOp::kMakeDir, "/")).error(), 0);
}

TEST(UserNames, TakesWhatMakesSenseAndPassesOverTheRest) {
  const UserNames names = UserNames::parse(
      "root:x:0:0::/root:/bin/sh\nbad\n:x:1:1::\nbig:x:99999999999:1::\nu:x:5:6::\nu:x:7:8::\n",
      "wheel:x:9:\n:x:3:\nneg:x:-1:\n");
  EXPECT_EQ(names.user(0), "root");
  EXPECT_EQ(names.user(5), "u");
  EXPECT_EQ(names.group(9), "wheel");
  EXPECT_EQ(names.group(3), "");
  EXPECT_EQ(names.owner("u")->uid, 5u);
  EXPECT_EQ(names.owner("u")->gid, 6u);
  EXPECT_EQ(names.owner("u:wheel")->gid, 9u);
  EXPECT_EQ(names.owner("42:43")->gid, 43u);
  EXPECT_EQ(names.owner(":wheel")->uid, Owner::kKeep);
  EXPECT_FALSE(names.owner("big").has_value());
  EXPECT_FALSE(names.owner("u:none").has_value());
  EXPECT_FALSE(names.owner("4294967295").has_value());
}

TEST(UserNames, TakesEveryLineThatHasItsFieldsAndANameThatFits) {
  const std::string longest(64, 'n');
  const UserNames names =
      UserNames::parse("four:x:4:5\nthree:x:6\n" + longest + ":x:7:7::\n" + longest + "n:x:8:8::\n",
                       "three:x:9\ntwo:x\n" + longest + ":x:10:\n");
  EXPECT_EQ(names.owner("four")->gid, 5u);
  EXPECT_FALSE(names.owner("three").has_value());
  EXPECT_EQ(names.user(7), longest);
  EXPECT_EQ(names.user(8), "");
  EXPECT_EQ(names.group(9), "three");
  EXPECT_FALSE(names.owner(":two").has_value());
  EXPECT_EQ(names.group(10), longest);
}

TEST(UserNames, AreReadUpToABound) {
  std::string passwd;
  for (int i = 0; i < 10'001; ++i) {
    passwd += "n" + std::to_string(i) + ":x:" + std::to_string(i) + ":1::\n";
  }
  const UserNames names = UserNames::parse(passwd, "");
  EXPECT_EQ(names.user(9'999), "n9999");
  EXPECT_EQ(names.user(10'000), "");
  EXPECT_EQ(names.owner("")->uid, Owner::kKeep);
  EXPECT_EQ(names.owner("")->gid, Owner::kKeep);
}

}  // namespace
}  // namespace glovebox::agent
