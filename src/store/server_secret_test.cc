#include "store/server_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

TEST(ServerSecret, IsMadeOnceAndStays) {
  const TempDir directory;
  const auto first = server_secret(directory.path());
  ASSERT_TRUE(first.has_value()) << first.error().message();
  EXPECT_EQ(first->size(), 32u);
  EXPECT_EQ(*server_secret(directory.path()), *first);
  struct stat info {};
  ASSERT_EQ(::stat((directory.path() + "/secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const TempDir another;
  EXPECT_NE(*server_secret(another.path()), *first);
}

TEST(ServerSecret, WhatIsNotOursIsNotUsed) {
  for (const std::size_t size : {0u, 31u, 33u}) {
    const TempDir directory;
    std::ofstream(directory.path() + "/secret") << std::string(size, 'x');
    EXPECT_EQ(server_secret(directory.path()).error().code(), Errc::kProtocol) << size;
  }
  const TempDir directory;
  std::filesystem::create_symlink("/etc/hostname", directory.path() + "/secret");
  EXPECT_FALSE(server_secret(directory.path()).has_value());
}

}  // namespace
}  // namespace glovebox::store
