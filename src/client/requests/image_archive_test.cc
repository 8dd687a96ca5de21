#include "client/requests/image_archive.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace glovebox::client {
namespace {

class ImageArchiveTest : public ::testing::Test {
 protected:
  ImageArchiveTest() {
    std::string name = ::testing::TempDir() + "/image_archive.XXXXXX";
    path_ = ::mkdtemp(name.data());
    std::ofstream(path_ / "etc-file") << "content";
  }
  ~ImageArchiveTest() override { std::filesystem::remove_all(path_); }

  static Result<std::string> read_all(ImageArchive& archive) {
    std::string all;
    char buffer[4096];
    while (true) {
      TRY(const std::size_t got, archive.read(buffer, sizeof buffer));
      if (got == 0) return all;
      all.append(buffer, got);
    }
  }

  std::filesystem::path path_;
};

TEST_F(ImageArchiveTest, AFileIsSentAsItIs) {
  auto archive = ImageArchive::open((path_ / "etc-file").string());
  ASSERT_TRUE(archive.has_value()) << archive.error().message();
  EXPECT_EQ(archive->length(), 7u);
  EXPECT_EQ(read_all(*archive), "content");
}

TEST_F(ImageArchiveTest, ADirectoryIsPacked) {
  auto archive = ImageArchive::open(path_.string());
  ASSERT_TRUE(archive.has_value()) << archive.error().message();
  EXPECT_EQ(archive->length(), std::nullopt);
  const auto tar = read_all(*archive);
  ASSERT_TRUE(tar.has_value()) << tar.error().message();
  EXPECT_NE(tar->find("./etc-file"), std::string::npos);
  EXPECT_NE(tar->find("content"), std::string::npos);
}

TEST_F(ImageArchiveTest, ATarThatFailsIsAnErrorAtTheEnd) {
  auto archive = ImageArchive::open(path_.string());
  ASSERT_TRUE(archive.has_value()) << archive.error().message();
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", path_.c_str(), 1);  // has no tar
  auto without = ImageArchive::open(path_.string());
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(without.has_value());
  const auto read = read_all(*without);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code(), Errc::kUnavailable);
  EXPECT_TRUE(read_all(*archive).has_value()) << "the control";
}

TEST_F(ImageArchiveTest, WhatIsMissingIsNamed) {
  const auto archive = ImageArchive::open((path_ / "missing").string());
  ASSERT_FALSE(archive.has_value());
  EXPECT_NE(archive.error().message().find("missing"), std::string::npos);
}

}  // namespace
}  // namespace glovebox::client
