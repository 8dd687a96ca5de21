#include "launcher/layers/root_copies.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace glovebox::launcher {
namespace {

namespace fs = std::filesystem;

class RootCopiesTest : public ::testing::Test {
 protected:
  RootCopiesTest() {
    std::string pattern = (fs::temp_directory_path() / "gbx-copies-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
    for (const char* name : {"layer", "usr", "place"}) fs::create_directory(dir_ / name);
  }
  ~RootCopiesTest() override { fs::remove_all(dir_); }

  void put(const std::string& path, mode_t mode, const std::string& text = "x") {
    fs::create_directories((dir_ / path).parent_path());
    std::ofstream(dir_ / path) << text;
    ASSERT_EQ(::chmod((dir_ / path).c_str(), mode), 0);
  }
  Result<RootCopies> make() {
    return make_root_copies((dir_ / "place").string(), (dir_ / "layer").string(),
                            (dir_ / "usr").string(), 0);
  }
  mode_t mode_of(const std::string& path) {
    struct stat info {};
    return ::lstat((dir_ / "place" / path).c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  bool has(const std::string& path) {
    return fs::exists(fs::symlink_status(dir_ / "place" / path));
  }
  std::string text_of(const std::string& path) {
    std::ifstream in(dir_ / "place" / path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path dir_;
};

TEST_F(RootCopiesTest, OfTheHostLayerAreAllButThePackagesOwnFiles) {
  put("layer/etc/sudoers", 0444, "user ALL");
  put("layer/var/lib/dpkg/status", 0644);
  put("layer/var/lib/dpkg/info/bash.list", 0644);
  fs::create_symlink("/proc/self/mounts", dir_ / "layer/etc/mtab");
  fs::create_directory(dir_ / "layer/tmp");
  ASSERT_EQ(::chmod((dir_ / "layer/tmp").c_str(), 01777), 0);
  const RootCopies copies = make().value();
  EXPECT_EQ(copies.root, (dir_ / "place/root").string());
  EXPECT_EQ(text_of("root/etc/sudoers"), "user ALL");
  EXPECT_EQ(mode_of("root/etc/sudoers"), 0444u);
  EXPECT_EQ(fs::read_symlink(dir_ / "place/root/etc/mtab"), "/proc/self/mounts");
  EXPECT_EQ(mode_of("root/tmp"), 01777u);
  EXPECT_TRUE(has("root/var/lib/dpkg/status"));
  EXPECT_TRUE(has("root/var/lib/dpkg/info"));
  EXPECT_FALSE(has("root/var/lib/dpkg/info/bash.list"));
}

TEST_F(RootCopiesTest, OfUsrAreTheDirectoriesAndTheSetuidPrograms) {
  put("usr/bin/sudo", 04755, "program");
  put("usr/bin/ls", 0755);
  put("usr/bin/wall", 02755);
  put("usr/lib/python3/module.py", 0644);
  put("usr/share/setuid", 04755);
  put("usr/libexec/sudo/sudoers.so", 0644);
  ASSERT_TRUE(make());
  EXPECT_EQ(text_of("usr/bin/sudo"), "program");
  EXPECT_EQ(mode_of("usr/bin/sudo"), 04755u);
  EXPECT_TRUE(has("usr/libexec/sudo/sudoers.so"));
  EXPECT_TRUE(has("usr/lib/python3"));
  for (const char* left_out : {"bin/ls", "bin/wall", "lib/python3/module.py", "share/setuid"}) {
    EXPECT_FALSE(has(std::string("usr/") + left_out)) << left_out;
  }
}

TEST_F(RootCopiesTest, ALinkToADirectoryIsNotFollowed) {
  put("usr/share/real/file", 0644);
  fs::create_directory_symlink(dir_ / "usr/share/real", dir_ / "usr/linked");
  fs::create_directory_symlink("..", dir_ / "usr/share/loop");
  ASSERT_TRUE(make());
  EXPECT_FALSE(has("usr/linked"));
  EXPECT_FALSE(has("usr/share/loop"));
  EXPECT_TRUE(has("usr/share/real"));
}

TEST_F(RootCopiesTest, OfTheHostLayerNeitherPipesNorDevicesAreCopied) {
  put("layer/etc/passwd", 0644);
  ASSERT_EQ(::mkfifo((dir_ / "layer/etc/fifo").c_str(), 0644), 0);
  ASSERT_TRUE(make());
  EXPECT_TRUE(has("root/etc/passwd"));
  EXPECT_FALSE(has("root/etc/fifo"));
}

TEST_F(RootCopiesTest, ALinkIsSudosOrNotCopied) {
  put("usr/libexec/sudo/sudoers.so", 0644);
  fs::create_symlink("sudoers.so", dir_ / "usr/libexec/sudo/link.so");
  put("usr/bin/sudo", 04755);
  fs::create_symlink("sudo", dir_ / "usr/bin/sudoedit");
  ASSERT_TRUE(make());
  EXPECT_EQ(fs::read_symlink(dir_ / "place/usr/libexec/sudo/link.so"), "sudoers.so");
  EXPECT_FALSE(has("usr/bin/sudoedit"));
}

TEST_F(RootCopiesTest, DirectoriesAreCopiedDownToABound) {
  std::string path;
  for (int i = 0; i < 70; ++i) path += "/d";
  fs::create_directories(dir_ / ("layer" + path));
  ASSERT_TRUE(make());
  EXPECT_TRUE(has("root" + path.substr(0, 2 * 65)));
  EXPECT_FALSE(has("root" + path.substr(0, 2 * 66)));
}

TEST_F(RootCopiesTest, AnotherOwnerGetsSetuidProgramsThatAreStillSetuid) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  put("usr/bin/sudo", 04755);
  ASSERT_TRUE(make_root_copies((dir_ / "place").string(), (dir_ / "layer").string(),
                               (dir_ / "usr").string(), 4242));
  struct stat info {};
  ASSERT_EQ(::lstat((dir_ / "place/usr/bin/sudo").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 4242u);
  EXPECT_EQ(info.st_mode & 07777, 04755u);
  ASSERT_EQ(::lstat((dir_ / "place/usr/bin").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 4242u);
}

TEST_F(RootCopiesTest, APlaceThatIsNotEmptyIsRefused) {
  ASSERT_TRUE(make());
  EXPECT_FALSE(make());
}

}  // namespace
}  // namespace glovebox::launcher
