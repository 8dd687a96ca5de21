// What is reported of files beyond their entries: targets of links, and clients' metadata.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "guest/agent/files/entry.h"
#include "guest/agent/files/testing/test_helper.h"

namespace glovebox::agent {
namespace {

using wire::FileOp;

wire::FileRequest detailed(FileOp op, const std::string& path, const std::string& target = {}) {
  wire::FileRequest request = request_for(op, path, target);
  request.details = true;
  request.follow = false;
  return request;
}

// The test's own directory may be behind a link.
std::string real(const std::string& path) {
  char whole[PATH_MAX];
  return ::realpath(path.c_str(), whole) != nullptr ? whole : "";
}

TEST(Details, MetadataIsKeptReplacedAndMovedAlong) {
  const TestDir dir;
  wire::FileRequest write = detailed(FileOp::kWrite, dir / "a");
  write.metadata = {{"author", "somebody"}, {"empty", ""}};
  write.mode = 0444;  // and still it has them
  const Answer written = run_helper(write, "x");
  ASSERT_EQ(written.error(), 0) << written.message();
  EXPECT_EQ(written.entry().metadata, write.metadata);
  char value[16];
  EXPECT_EQ(::getxattr((dir / "a").c_str(), "user.author", value, sizeof value), 8);
  EXPECT_EQ(run_helper(detailed(FileOp::kStat, dir / "a")).entry().metadata, write.metadata);
  EXPECT_TRUE(run_helper(request_for(FileOp::kStat, dir / "a")).entry().metadata.empty())
      << "only when it was asked for";
  const Answer moved = run_helper(detailed(FileOp::kMove, dir / "a", dir / "d/b"));
  EXPECT_EQ(moved.entry().metadata, write.metadata);
  ASSERT_EQ(run_helper(detailed(FileOp::kCopy, dir / "d/b", dir / "c")).error(), 0);
  const auto listed = run_helper(detailed(FileOp::kList, dir.path())).entries();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].metadata, write.metadata);
  write.path = dir / "c";
  write.metadata = {{"other", "1"}};
  EXPECT_EQ(run_helper(write, "y").entry().metadata, write.metadata);
  write.metadata.clear();
  EXPECT_TRUE(run_helper(write, "z").entry().metadata.empty());
}

TEST(Details, MetadataThatCannotBeEncodedIsLeftOut) {
  const TestDir dir;
  write_whole(dir / "a", "x");
  const std::string path = dir / "a";
  const auto set = [&](const char* name, const std::string& value) {
    ASSERT_EQ(::setxattr(path.c_str(), name, value.data(), value.size(), 0), 0) << name;
  };
  set("user.good", "v");
  set("user.odd", "\x01");
  set("user.a.namespace", "w");
  EXPECT_EQ(run_helper(detailed(FileOp::kStat, path)).entry().metadata,
            (wire::Metadata{{"a.namespace", "w"}, {"good", "v"}}));
}

TEST(Details, ReportsTheFinalTargetOfALink) {
  const TestDir dir;
  ASSERT_EQ(::mkdir((dir / "d").c_str(), 0750), 0);
  write_whole(dir / "d/f", "x");
  ASSERT_EQ(::chmod((dir / "d/f").c_str(), 0640), 0);
  ASSERT_EQ(::symlink("d/f", (dir / "1").c_str()), 0);
  ASSERT_EQ(::symlink((dir / "1").c_str(), (dir / "2").c_str()), 0);
  ASSERT_EQ(::symlink("d", (dir / "dir").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (dir / "broken").c_str()), 0);
  ASSERT_EQ(::symlink("loop", (dir / "loop").c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/exe", (dir / "magic").c_str()), 0);
  for (const char* name : {"1", "2"}) {
    const wire::FileEntry entry = run_helper(detailed(FileOp::kStat, dir / name)).entry();
    EXPECT_EQ(entry.type, wire::FileType::kSymlink);
    ASSERT_TRUE(entry.end) << name;
    EXPECT_EQ(entry.end->path, real(dir / "d/f"));
    EXPECT_EQ(entry.end->type, wire::FileType::kFile);
    EXPECT_EQ(entry.end->mode, 0640u);
  }
  const auto listed = run_helper(detailed(FileOp::kList, dir.path())).entries();
  ASSERT_EQ(listed.size(), 7u);
  EXPECT_EQ(listed[1].path, "2");
  EXPECT_EQ(listed[1].end->path, real(dir / "d/f"));
  for (const wire::FileEntry& entry : listed) {
    if (entry.path == "dir") {
      EXPECT_EQ(entry.end->type, wire::FileType::kDirectory);
    }
    if (entry.path == "broken" || entry.path == "loop" || entry.path == "magic") {
      EXPECT_FALSE(entry.end) << entry.path;
    }
  }
}

}  // namespace
}  // namespace glovebox::agent
