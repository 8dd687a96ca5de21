// Directories are swapped for symlinks while a helper works. Whatever it sees, it does no more than
// its user could: nothing behind the link is removed, listed, copied or overwritten by operations
// that follow none, and nothing hangs or dies.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/agent/files/tar_writer.h"
#include "guest/agent/files/testing/test_helper.h"

namespace glovebox::agent {
namespace {

using wire::FileOp;

// Exchanges two names for ever.
class Swapper {
 public:
  Swapper(const std::string& one, const std::string& other) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    for (;;) {
      (void)::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
    }
  }
  ~Swapper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

constexpr int kRounds = 20;

class LinkRace : public ::testing::Test {
 protected:
  void SetUp() override {
    // Behind the link: what must not be reached. t/d and l are exchanged.
    ASSERT_TRUE(shell("cd '" + dir_.path() +
                      "' && mkdir -p secret/d t && echo secret > secret/f && "
                      "echo secret > secret/d/f && ln -s $PWD/secret l"));
    refill();
  }
  void refill() {
    ASSERT_TRUE(shell("cd '" + dir_.path() +
                      "' && mkdir -p t/d/d && echo mine > t/d/f && "
                      "echo mine > t/d/d/f 2>/dev/null; true"));
  }
  void expect_secret_is_whole() {
    EXPECT_EQ(read_whole(dir_ / "secret/f"), "secret\n");
    EXPECT_EQ(read_whole(dir_ / "secret/d/f"), "secret\n");
    EXPECT_TRUE(shell("cd '" + (dir_ / "secret") + "' && test \"$(ls | xargs)\" = 'd f'"));
  }
  void expect_lived(const Answer& answer) {
    EXPECT_TRUE(answer.done.has_value());
    EXPECT_EQ(answer.status, 0);
  }
  TestDir dir_;
};

TEST_F(LinkRace, RemoveReachesNothingBehindALink) {
  for (int round = 0; round < kRounds; ++round) {
    {
      const Swapper swapper(dir_ / "t/d", dir_ / "l");
      wire::FileRequest request = request_for(FileOp::kRemove, dir_ / "t");
      request.recursive = true;
      expect_lived(run_helper(request));
    }
    // The swapping has ended: what follows is the test's own, and would go through a link itself.
    expect_secret_is_whole();
    ASSERT_TRUE(shell("cd '" + dir_.path() +
                      "' && rm -rf t; rm -rf l; mkdir -p t/d/d && "
                      "echo mine > t/d/f && echo mine > t/d/d/f && ln -s $PWD/secret l"));
  }
}

TEST_F(LinkRace, CopyListAndArchiveReadNothingBehindALink) {
  const Swapper swapper(dir_ / "t/d", dir_ / "l");
  for (int round = 0; round < kRounds; ++round) {
    wire::FileRequest copy = request_for(FileOp::kCopy, dir_ / "t", dir_ / "copy");
    copy.recursive = true;
    expect_lived(run_helper(copy));
    EXPECT_FALSE(shell("grep -rqs secret '" + (dir_ / "copy") + "'"));
    ASSERT_TRUE(shell("rm -rf '" + (dir_ / "copy") + "'"));
    wire::FileRequest list = request_for(FileOp::kList, dir_ / "t");
    list.depth = 0;
    const Answer listed = run_helper(list);
    expect_lived(listed);
    for (const wire::FileEntry& entry : listed.entries()) {
      EXPECT_NE(entry.size, 7u) << entry.path;  // of "secret\n"
    }
    const Answer archive = run_helper(request_for(FileOp::kTarOut, dir_ / "t"));
    expect_lived(archive);
    EXPECT_THAT(archive.data, ::testing::Not(::testing::HasSubstr("secret\n")));
  }
  expect_secret_is_whole();
}

TEST_F(LinkRace, UnpackingWritesNothingBehindALink) {
  const Swapper swapper(dir_ / "t/d", dir_ / "l");
  wire::TarEntry entry;
  entry.name = "d/f";
  entry.size = 4;
  entry.mode = 0644;
  wire::TarEntry deeper = entry;
  deeper.name = "d/d/f";
  const std::string archive = tar_header(entry) + "evil" + tar_padding(4) + tar_header(deeper) +
                              "evil" + tar_padding(4) + tar_end();
  for (int round = 0; round < kRounds; ++round) {
    expect_lived(run_helper(request_for(FileOp::kTarIn, dir_ / "t"), archive));
  }
  expect_secret_is_whole();
}

TEST_F(LinkRace, NothingHangsOrDiesWhenAFileBecomesAFifo) {
  write_whole(dir_ / "file", "content");
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  const Swapper swapper(dir_ / "file", dir_ / "fifo");
  for (int round = 0; round < kRounds; ++round) {
    const Answer read = run_helper(request_for(FileOp::kRead, dir_ / "file"));
    expect_lived(read);
    EXPECT_TRUE(read.error() == EINVAL || read.data == "content") << read.message();
    expect_lived(run_helper(request_for(FileOp::kWrite, dir_ / "file"), "content"));
    expect_lived(run_helper(request_for(FileOp::kCopy, dir_ / "file", dir_ / "copy")));
    expect_lived(run_helper(request_for(FileOp::kTarOut, dir_ / "file")));
    expect_lived(run_helper(request_for(FileOp::kStat, dir_ / "file")));
    expect_lived(run_helper(request_for(FileOp::kMove, dir_ / "file", dir_ / "moved")));
    expect_lived(run_helper(request_for(FileOp::kMove, dir_ / "moved", dir_ / "file")));
    if (::access((dir_ / "fifo").c_str(), F_OK) != 0) (void)::mkfifo((dir_ / "fifo").c_str(), 0600);
  }
}

}  // namespace
}  // namespace glovebox::agent
