#include "supervisor/data_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/process.h"

namespace glovebox::supervisor {
namespace {

using ::testing::HasSubstr;

class DataDirectory : public ::testing::Test {
 protected:
  DataDirectory() {
    char name[] = "/tmp/gbx-data-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~DataDirectory() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

TEST_F(DataDirectory, IsMadeWithItsParents) {
  ASSERT_TRUE(DataDir::open(directory_ + "/a/b"));
  EXPECT_TRUE(std::filesystem::is_directory(directory_ + "/a/b"));
}

TEST_F(DataDirectory, IsRefusedWhereOthersCanWrite) {
  ::chmod(directory_.c_str(), 0777);
  const auto opened = DataDir::open(directory_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("not writable by other users"));
}

TEST_F(DataDirectory, ServeInfoComesBackAsWritten) {
  const auto data = DataDir::open(directory_);
  const ServeInfo info{"http://[::1]:7070", 1, 2, 3, 4, "0.1"};
  ASSERT_TRUE(data->write_serve_info(info));
  EXPECT_EQ(data->read_serve_info(), info);
  struct stat status {};
  ASSERT_EQ(::stat((directory_ + "/serve.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644u);
  data->remove_serve_info();
  EXPECT_EQ(data->read_serve_info(), std::nullopt);
}

TEST_F(DataDirectory, NonsenseInServeJsonIsNoInformation) {
  const auto data = DataDir::open(directory_);
  for (const char* text : {"", "[]", "{", "{\"url\":7}", "{\"url\":\"http://\x1b[2J\"}",
                           "{\"url\":\"file:///etc/passwd\"}"}) {
    std::ofstream(directory_ + "/serve.json") << text;
    EXPECT_EQ(data->read_serve_info(), std::nullopt) << text;
  }
}

TEST_F(DataDirectory, TheLockNamesItsHolderAndEndsWithIt) {
  int ready[2], go[2];
  ASSERT_EQ(::pipe(ready) + ::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto theirs = DataDir::open(directory_);
    const char locked = theirs && *theirs->try_lock() ? 'y' : 'n';
    (void)!::write(ready[1], &locked, 1);
    char byte;
    ::close(go[1]);
    (void)!::read(go[0], &byte, 1);
    ::_exit(0);
  }
  char locked = 0;
  ASSERT_EQ(::read(ready[0], &locked, 1), 1);
  ASSERT_EQ(locked, 'y');
  auto data = DataDir::open(directory_);
  EXPECT_FALSE(*data->try_lock());
  const auto holder = find_lock_holder(data->lock_fd());
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->pid, child);
  ::close(go[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(find_lock_holder(data->lock_fd()));
  EXPECT_TRUE(*data->try_lock());
  for (const int fd : {ready[0], ready[1], go[0]}) ::close(fd);
}

}  // namespace
}  // namespace glovebox::supervisor
