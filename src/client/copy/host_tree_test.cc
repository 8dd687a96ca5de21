#include "client/copy/host_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace glovebox::client {
namespace {

namespace fs = std::filesystem;

class HostTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "gbx-tree-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    location_ = pattern;
    fs::create_directory(location_ / "outside");
  }
  void TearDown() override { fs::remove_all(location_); }

  Result<> write(const HostTree& tree, const std::string& relative) {
    TRY(HostTree::File file, tree.create(relative));
    if (::write(file.fd(), "text", 4) != 4) return fail(Error::from_errno("write"));
    return file.keep(04755);
  }

  fs::path location_;
};

TEST_F(HostTreeTest, WritesFilesWithTheirDirectories) {
  const auto tree = HostTree::open(location_ / "tree", HostTree::FinalLink::kFollow);
  ASSERT_TRUE(tree.has_value());
  ASSERT_TRUE(write(*tree, "a/b/c").has_value());
  struct stat info {};
  ASSERT_EQ(::stat((location_ / "tree/a/b/c").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 4);
  EXPECT_EQ(info.st_mode & 07777u, 0755u);  // nothing becomes setuid here
}

TEST_F(HostTreeTest, NeverFollowsALink) {
  const auto tree = HostTree::open(location_ / "tree", HostTree::FinalLink::kFollow);
  ASSERT_TRUE(tree.has_value());
  ASSERT_TRUE(tree->make_link("way", (location_ / "outside").string()).has_value());
  EXPECT_FALSE(write(*tree, "way/file").has_value());
  EXPECT_FALSE(tree->make_directory("way/directory", 0755).has_value());
  EXPECT_TRUE(fs::is_empty(location_ / "outside"));
  // A link in a file's own place is replaced, not written through.
  std::ofstream(location_ / "outside/file") << "kept";
  ASSERT_TRUE(tree->make_link("file", (location_ / "outside/file").string()).has_value());
  ASSERT_TRUE(write(*tree, "file").has_value());
  EXPECT_EQ(fs::file_size(location_ / "outside/file"), 4u);
  std::string text;
  std::ifstream(location_ / "outside/file") >> text;
  EXPECT_EQ(text, "kept");
}

TEST_F(HostTreeTest, FollowsAFinalLinkOnlyIfAsked) {
  fs::create_symlink(location_ / "outside", location_ / "link");
  EXPECT_TRUE(HostTree::open(location_ / "link", HostTree::FinalLink::kFollow).has_value());
  EXPECT_FALSE(HostTree::open(location_ / "link", HostTree::FinalLink::kRefuse).has_value());
}

TEST_F(HostTreeTest, RefusesNamesThatLeadOutside) {
  const auto tree = HostTree::open(location_ / "tree", HostTree::FinalLink::kFollow);
  ASSERT_TRUE(tree.has_value());
  for (const char* name : {"../x", "/x", "a/../../x", ""}) {
    EXPECT_FALSE(write(*tree, name).has_value()) << name;
  }
}

TEST_F(HostTreeTest, RemovesAFileThatIsNotKept) {
  const auto tree = HostTree::open(location_ / "tree", HostTree::FinalLink::kFollow);
  ASSERT_TRUE(tree.has_value());
  {
    const auto file = tree->create("half");
    ASSERT_TRUE(file.has_value());
  }
  EXPECT_TRUE(fs::is_empty(location_ / "tree"));
}

}  // namespace
}  // namespace glovebox::client
