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
    place_ = pattern;
    fs::create_directory(place_ / "outside");
  }
  void TearDown() override { fs::remove_all(place_); }

  Result<> write(const HostTree& tree, const std::string& relative) {
    TRY(HostTree::File file, tree.create(relative));
    if (::write(file.fd(), "text", 4) != 4) return fail(Error::from_errno("write"));
    return file.keep(04755);
  }

  fs::path place_;
};

TEST_F(HostTreeTest, WritesFilesWithTheirDirectories) {
  const auto tree = HostTree::open(place_ / "tree", HostTree::Typed::kWhole);
  ASSERT_TRUE(tree.has_value());
  ASSERT_TRUE(write(*tree, "a/b/c").has_value());
  struct stat info {};
  ASSERT_EQ(::stat((place_ / "tree/a/b/c").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 4);
  EXPECT_EQ(info.st_mode & 07777u, 0755u);  // nothing becomes setuid here
}

TEST_F(HostTreeTest, NeverGoesThroughALink) {
  const auto tree = HostTree::open(place_ / "tree", HostTree::Typed::kWhole);
  ASSERT_TRUE(tree.has_value());
  ASSERT_TRUE(tree->make_link("way", (place_ / "outside").string()).has_value());
  EXPECT_FALSE(write(*tree, "way/file").has_value());
  EXPECT_FALSE(tree->make_directory("way/directory", 0755).has_value());
  EXPECT_TRUE(fs::is_empty(place_ / "outside"));
  // A link in a file's own place is replaced, not written through.
  std::ofstream(place_ / "outside/file") << "kept";
  ASSERT_TRUE(tree->make_link("file", (place_ / "outside/file").string()).has_value());
  ASSERT_TRUE(write(*tree, "file").has_value());
  EXPECT_EQ(fs::file_size(place_ / "outside/file"), 4u);
  std::string text;
  std::ifstream(place_ / "outside/file") >> text;
  EXPECT_EQ(text, "kept");
}

TEST_F(HostTreeTest, BeginsAtALinkOnlyIfThatWasTyped) {
  fs::create_symlink(place_ / "outside", place_ / "link");
  EXPECT_TRUE(HostTree::open(place_ / "link", HostTree::Typed::kWhole).has_value());
  EXPECT_FALSE(HostTree::open(place_ / "link", HostTree::Typed::kInPart).has_value());
}

TEST_F(HostTreeTest, RefusesNamesThatLeadOut) {
  const auto tree = HostTree::open(place_ / "tree", HostTree::Typed::kWhole);
  ASSERT_TRUE(tree.has_value());
  for (const char* name : {"../x", "/x", "a/../../x", ""}) {
    EXPECT_FALSE(write(*tree, name).has_value()) << name;
  }
}

TEST_F(HostTreeTest, LeavesNothingOfAFileThatIsNotKept) {
  const auto tree = HostTree::open(place_ / "tree", HostTree::Typed::kWhole);
  ASSERT_TRUE(tree.has_value());
  {
    const auto file = tree->create("half");
    ASSERT_TRUE(file.has_value());
  }
  EXPECT_TRUE(fs::is_empty(place_ / "tree"));
}

}  // namespace
}  // namespace glovebox::client
