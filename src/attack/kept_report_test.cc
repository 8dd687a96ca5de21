#include "attack/kept_report.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace glovebox::attack {
namespace {

namespace fs = std::filesystem;

class KeptReport : public ::testing::Test {
 protected:
  KeptReport() {
    std::string path = ::testing::TempDir() + "kept-report-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    data_ = path;
  }
  ~KeptReport() override { fs::remove_all(data_); }

  static std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string kept() const { return read(data_ / "store" / kKeptReport); }

  fs::path data_;
};

TEST_F(KeptReport, WithoutAServersDirectoryNothingIsKept) {
  const auto kept = keep_report(data_.string(), "{}");
  ASSERT_TRUE(kept.has_value()) << kept.error().message();
  EXPECT_FALSE(*kept);
  EXPECT_TRUE(fs::is_empty(data_));
}

TEST_F(KeptReport, TheLastReportIsThereAndNothingElse) {
  fs::create_directory(data_ / "store");
  EXPECT_TRUE(keep_report(data_.string(), "first, and longer").value());
  EXPECT_TRUE(keep_report(data_.string(), "second").value());
  EXPECT_EQ(kept(), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(data_ / "store"), {}), 1);
  struct stat status {};
  ASSERT_EQ(::stat((data_ / "store" / kKeptReport).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644u);
}

TEST_F(KeptReport, WhatTheServersUserPutThereIsNotFollowed) {
  fs::create_directory(data_ / "store");
  std::ofstream(data_ / "of-root") << "untouched";
  fs::create_symlink(data_ / "of-root", data_ / "store" / kKeptReport);
  EXPECT_TRUE(keep_report(data_.string(), "report").value());
  EXPECT_EQ(read(data_ / "of-root"), "untouched");
  EXPECT_EQ(kept(), "report");
  fs::rename(data_ / "store", data_ / "elsewhere");
  fs::create_directory_symlink(data_ / "elsewhere", data_ / "store");
  EXPECT_FALSE(keep_report(data_.string(), "through a link").has_value());
  EXPECT_EQ(read(data_ / "elsewhere" / kKeptReport), "report");
}

}  // namespace
}  // namespace glovebox::attack
