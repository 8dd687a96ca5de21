#include "sys/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace glovebox::sys {
namespace {

namespace fs = std::filesystem;

std::string make_place() {
  std::string pattern = (fs::temp_directory_path() / "gbx-tree-XXXXXX").string();
  return ::mkdtemp(pattern.data());
}

TEST(RemoveTree, RemovesFilesLinksAndClosedDirectories) {
  const std::string place = make_place();
  fs::create_directories(place + "/a/b");
  std::ofstream(place + "/a/b/file") << "x";
  fs::create_symlink("/etc/passwd", place + "/a/link");
  ::chmod((place + "/a/b").c_str(), 0);
  EXPECT_TRUE(remove_tree(place));
  EXPECT_FALSE(fs::exists(place));
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

TEST(RemoveTree, FollowsNoLinkToADirectory) {
  const std::string place = make_place();
  const std::string other = make_place();
  std::ofstream(other + "/kept") << "x";
  fs::create_directory_symlink(other, place + "/link");
  EXPECT_TRUE(remove_tree(place));
  EXPECT_TRUE(fs::exists(other + "/kept"));
  EXPECT_TRUE(remove_tree(other));
}

TEST(RemoveTree, NeedsNoDescriptorPerLevel) {
  const std::string place = make_place();
  int at = ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int level = 0; level < 3000; ++level) {
    ASSERT_EQ(::mkdirat(at, "d", 0755), 0);
    const int next = ::openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(at);
    at = next;
  }
  ::close(at);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{64, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  EXPECT_TRUE(remove_tree(place));
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(fs::exists(place));
}

TEST(RemoveTree, ClosedDirectoriesBelowClosedOnesGoToo) {
  const std::string place = make_place();
  fs::create_directories(place + "/a/b/c/d");
  fs::create_directories(place + "/.gbx-removed-0/x");
  for (const char* name : {"/a/b/c", "/a/b", "/a", ""}) ::chmod((place + name).c_str(), 0);
  EXPECT_TRUE(remove_tree(place));
  EXPECT_FALSE(fs::exists(place));
}

TEST(RemoveTree, WhatIsNotThereIsNoError) { EXPECT_TRUE(remove_tree("/nonexistent/x")); }

}  // namespace
}  // namespace glovebox::sys
