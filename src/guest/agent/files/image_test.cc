// Layers of images: what they add and remove, and what hostile ones try.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "guest/agent/files/tar_writer.h"
#include "guest/agent/files/testing/test_helper.h"
#include "wire/guest/image_layer.h"
#include "wire/tar/tar_entry.h"

namespace glovebox::agent {
namespace {

using ::testing::HasSubstr;
using wire::FileOp;
using wire::TarEntry;
using wire::TarType;

// A layer, entry by entry.
class Layer {
 public:
  Layer& file(const std::string& name, const std::string& content, unsigned mode = 0644) {
    TarEntry entry = entry_of(TarType::kFile, name, mode);
    entry.size = content.size();
    bytes_ += tar_header(entry) + content + tar_padding(content.size());
    return *this;
  }
  Layer& directory(const std::string& name, unsigned mode = 0755) {
    return add(entry_of(TarType::kDirectory, name, mode));
  }
  Layer& link(TarType type, const std::string& name, const std::string& target) {
    TarEntry entry = entry_of(type, name, 0777);
    entry.link = target;
    return add(entry);
  }
  Layer& symlink(const std::string& name, const std::string& target) {
    return link(TarType::kSymlink, name, target);
  }
  Layer& add(const TarEntry& entry) {
    bytes_ += tar_header(entry);
    return *this;
  }
  static TarEntry entry_of(TarType type, const std::string& name, unsigned mode = 0644) {
    TarEntry entry;
    entry.type = type;
    entry.name = name;
    entry.mode = mode;
    return entry;
  }
  std::string bytes() const { return bytes_ + tar_end(); }

 private:
  std::string bytes_;
};

class Image : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "owners can only be set by root";
    ASSERT_EQ(::mkdir(tree().c_str(), 0755), 0);
  }
  std::string tree() const { return dir_ / "tree"; }
  std::string operator/(const std::string& name) const { return tree() + "/" + name; }

  Answer apply(const std::string& bytes, std::uint64_t most = UINT64_MAX) {
    wire::FileRequest request = request_for(FileOp::kImageIn, tree());
    request.most = most;
    return run_helper(request, bytes);
  }
  void must(const Layer& layer) {
    const Answer answer = apply(layer.bytes());
    ASSERT_EQ(answer.error(), 0) << answer.message();
  }
  // The message.
  std::string refused(const Layer& layer, int error = EINVAL) {
    const Answer answer = apply(layer.bytes());
    EXPECT_EQ(answer.error(), error) << answer.message();
    return answer.message();
  }
  bool is_there(const std::string& name) const {
    struct stat info {};
    return ::lstat((*this / name).c_str(), &info) == 0;
  }
  struct stat facts(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(::lstat((*this / name).c_str(), &info), 0) << name;
    return info;
  }

  TestDir dir_;
};

TEST_F(Image, KeepsOwnersModesTimesAndHardLinks) {
  TarEntry program = Layer::entry_of(TarType::kFile, "bin/su", 04755);
  program.mtime_s = 1'000'000;
  TarEntry owned = Layer::entry_of(TarType::kDirectory, "srv/data", 02770);
  owned.uid = 33;
  owned.gid = 44;
  TarEntry link = Layer::entry_of(TarType::kSymlink, "etc/link", 0777);
  link.link = "/nowhere/at/all";
  link.uid = 5;
  must(Layer()
           .add(program)
           .add(owned)
           .add(link)
           .file("srv/data/f", "content", 0600)
           .link(TarType::kHardLink, "srv/second", "srv/data/f"));
  EXPECT_EQ(facts("bin/su").st_mode & 07777u, 04755u);
  EXPECT_EQ(facts("bin/su").st_mtime, 1'000'000);
  EXPECT_EQ(facts("srv/data").st_mode & 07777u, 02770u);
  EXPECT_EQ(facts("srv/data").st_uid, 33u);
  EXPECT_EQ(facts("srv/data").st_gid, 44u);
  EXPECT_EQ(facts("etc/link").st_uid, 5u);
  EXPECT_EQ(facts("srv/second").st_ino, facts("srv/data/f").st_ino);
  EXPECT_EQ(read_whole(*this / "srv/second"), "content");
}

TEST_F(Image, KeepsFileCapabilities) {
  // CAP_NET_RAW, permitted and effective, as setcap writes it.
  const std::string value(
      "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x00\x00",
      20);
  TarEntry entry = Layer::entry_of(TarType::kFile, "ping", 0755);
  entry.xattrs = {{"security.capability", value}, {"user.note", "kept"}};
  const Answer answer = apply(Layer().add(entry).bytes());
  ASSERT_EQ(answer.error(), 0) << answer.message();
  EXPECT_EQ(wire::parse_layer_report(answer.done->entry)->capabilities, 0u);
  char found[64];
  ASSERT_EQ(::getxattr((*this / "ping").c_str(), "security.capability", found, sizeof found), 20);
  EXPECT_EQ(std::string(found, 20), value);
}

TEST_F(Image, WhiteoutsRemoveWhatIsBelow) {
  must(Layer().file("a/f", "1").file("a/g", "2").file("b/c/d", "3").file("stays", "4"));
  must(Layer().file("a/.wh.f", "").file(".wh.b", "").file("gone/.wh.nothing", ""));
  EXPECT_FALSE(is_there("a/f"));
  EXPECT_TRUE(is_there("a/g"));
  EXPECT_FALSE(is_there("b"));
  EXPECT_TRUE(is_there("stays"));
  EXPECT_FALSE(is_there("a/.wh.f"));
  EXPECT_FALSE(is_there("gone"));
}

TEST_F(Image, AWhiteoutDoesNotRemoveWhatItsOwnLayerAdds) {
  must(Layer().file("d/old", "1").file("d/sub/old", "2"));
  must(Layer().file("d/new", "3").file(".wh.d", "").file("d/sub/new", "4"));
  EXPECT_FALSE(is_there("d/old"));
  EXPECT_EQ(read_whole(*this / "d/new"), "3");
  EXPECT_EQ(read_whole(*this / "d/sub/new"), "4");
  EXPECT_FALSE(is_there("d/sub/old"));
}

TEST_F(Image, AnOpaqueDirectoryShowsOnlyItsOwnLayer) {
  must(Layer().file("d/old", "1").file("d/sub/old", "2").file("other", "3"));
  // The mark may come before or after what it does not concern.
  must(Layer().file("d/before", "4").file("d/.wh..wh..opq", "").file("d/sub/after", "5"));
  EXPECT_FALSE(is_there("d/old"));
  EXPECT_FALSE(is_there("d/sub/old"));
  EXPECT_EQ(read_whole(*this / "d/before"), "4");
  EXPECT_EQ(read_whole(*this / "d/sub/after"), "5");
  EXPECT_TRUE(is_there("other"));
  EXPECT_FALSE(is_there("d/.wh..wh..opq"));
}

TEST_F(Image, AnUpperLayerReplacesFilesDirectoriesAndLinks) {
  must(Layer().file("one/deep/f", "1").file("two", "2").symlink("three", "one").file("four", "3"));
  must(Layer().file("one", "now a file").directory("two").file("two/now", "1").directory("three"));
  EXPECT_EQ(read_whole(*this / "one"), "now a file");
  EXPECT_TRUE(S_ISDIR(facts("three").st_mode));
}

TEST_F(Image, GoesThroughTheImagesOwnLinks) {
  must(Layer().directory("usr/lib").symlink("lib", "usr/lib").symlink("abs", "/usr/lib"));
  must(Layer().file("lib/a", "1").file("abs/b", "2"));
  EXPECT_EQ(read_whole(*this / "usr/lib/a"), "1");
  EXPECT_EQ(read_whole(*this / "usr/lib/b"), "2");
}

TEST_F(Image, LeavesDevicesOutAndCountsThem) {
  const Answer answer = apply(Layer()
                                  .add(Layer::entry_of(TarType::kCharDevice, "dev/null"))
                                  .add(Layer::entry_of(TarType::kBlockDevice, "disk"))
                                  .file("f", "1")
                                  .bytes());
  ASSERT_EQ(answer.error(), 0) << answer.message();
  EXPECT_EQ(wire::parse_layer_report(answer.done->entry)->devices, 2u);
  EXPECT_FALSE(is_there("disk"));
  EXPECT_FALSE(is_there("dev/null"));
}

TEST_F(Image, MakesTheDirectoriesThatASandboxMountsUpon) {
  must(Layer().symlink("proc", "/etc").file("dev", "no directory").symlink("tmp", "var/tmp"));
  for (const char* name : {"proc", "dev", "sys", "tmp", "usr"}) {
    EXPECT_TRUE(S_ISDIR(facts(name).st_mode)) << name;
  }
}

TEST_F(Image, RefusesAnUsrThatIsNoDirectory) {
  EXPECT_THAT(refused(Layer().symlink("usr", "/etc")), HasSubstr("/usr"));
}

std::string gzipped(const std::string& text) {
  z_stream stream{};
  ::deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

TEST_F(Image, CompressedLayersHaveTheDigestOfWhatIsInThem) {
  const std::string plain = Layer().file("f", std::string(300'000, 'x')).bytes();
  std::string zstd(::ZSTD_compressBound(plain.size()), '\0');
  zstd.resize(::ZSTD_compress(zstd.data(), zstd.size(), plain.data(), plain.size(), 3));
  const Answer one = apply(plain);
  ASSERT_EQ(one.error(), 0) << one.message();
  const std::string digest = wire::parse_layer_report(one.done->entry)->diff_id;
  for (const std::string& bytes : {gzipped(plain), zstd}) {
    const Answer other = apply(bytes);
    ASSERT_EQ(other.error(), 0) << other.message();
    EXPECT_EQ(wire::parse_layer_report(other.done->entry)->diff_id, digest);
  }
  EXPECT_EQ(digest.size(), 64u);
}

// ---- hostile ones ----------------------------------------------------------------------------

class HostileImage : public Image {
 protected:
  void SetUp() override {
    Image::SetUp();
    if (!IsSkipped()) write_whole(dir_ / "outside", "untouched");
  }
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_EQ(read_whole(dir_ / "outside"), "untouched");
  }
};

TEST_F(HostileImage, NamesCannotGoUpwards) {
  EXPECT_THAT(refused(Layer().file("../outside", "changed")), HasSubstr(".."));
  EXPECT_THAT(refused(Layer().file("a/../../outside", "changed")), HasSubstr(".."));
  must(Layer().file("/outside", "inside"));
  EXPECT_EQ(read_whole(*this / "outside"), "inside");
}

TEST_F(HostileImage, LinksDoNotLeadOut) {
  const std::string away = dir_.path();
  must(Layer().symlink("away", away).symlink("up", "../../../../../../../.."));
  // They lead to what is called so inside.
  must(Layer().file("up/outside", "changed"));
  EXPECT_EQ(read_whole(*this / "outside"), "changed");
  must(Layer().directory(away.substr(1)));
  must(Layer().file("away/outside", "changed").file("away/.wh.outside", ""));
  // A file in a link's place replaces the link.
  must(Layer().symlink("s", dir_ / "outside"));
  must(Layer().file("s", "changed"));
  EXPECT_EQ(read_whole(*this / "s"), "changed");
}

TEST_F(HostileImage, HardLinksDoNotLeadOut) {
  EXPECT_THAT(refused(Layer().link(TarType::kHardLink, "h", "../outside")), HasSubstr(".."));
  refused(Layer().link(TarType::kHardLink, "h", dir_ / "outside"), ENOENT);
  refused(Layer().symlink("up", "/..").link(TarType::kHardLink, "h", "up/outside"), ENOENT);
  EXPECT_THAT(refused(Layer().directory("d").link(TarType::kHardLink, "h", "d")),
              HasSubstr("directory"));
}

TEST_F(HostileImage, WhiteoutsDoNotReachOut) {
  must(Layer().symlink("away", dir_.path()).symlink("up", "/../.."));
  must(Layer().file("away/.wh.outside", "").file("up/.wh.outside", "").file("up/.wh..wh..opq", ""));
  EXPECT_TRUE(refused(Layer().file("a/f", "").file("a/.wh...", "")).find("invalid whiteout") !=
              std::string::npos);
  EXPECT_THAT(refused(Layer().file("a/f", "").file("a/.wh.", "")), HasSubstr("invalid whiteout"));
  EXPECT_THAT(refused(Layer().file("a/f", "").file("a/.wh..", "")), HasSubstr("invalid whiteout"));
}

TEST_F(HostileImage, OverlaysOwnAttributesAreNotKept) {
  TarEntry entry = Layer::entry_of(TarType::kDirectory, "d", 0755);
  entry.xattrs = {{"trusted.overlay.opaque", "y"},
                  {"user.overlay.opaque", "y"},
                  {"trusted.overlay.redirect", "/etc"},
                  {"security.selinux", "x"}};
  must(Layer().add(entry));
  char names[1024];
  EXPECT_EQ(::listxattr((*this / "d").c_str(), names, sizeof names), 0);
}

TEST_F(HostileImage, ABombEndsAtTheLimit) {
  const std::string bomb = gzipped(Layer().file("zeros", std::string(50'000'000, '\0')).bytes());
  EXPECT_LT(bomb.size(), 100'000u);
  const Answer answer = apply(bomb, 1'000'000);
  EXPECT_EQ(answer.error(), EFBIG);
  EXPECT_THAT(answer.message(), HasSubstr("size limit"));
}

TEST_F(HostileImage, OwnersOutsideOfASandboxAreRefused) {
  TarEntry entry = Layer::entry_of(TarType::kFile, "f");
  entry.uid = 100'000;
  EXPECT_THAT(refused(Layer().add(entry)), HasSubstr("65535"));
}

TEST_F(HostileImage, DirectoriesThatOnlyPathsNameAreCounted) {
  Layer layer;
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "d/";
  for (const char* top : {"a/", "b/", "c/"}) layer.file(top + deep + "f", "x");
  const Answer whole = apply(layer.bytes());
  ASSERT_EQ(whole.error(), 0) << whole.message();
  EXPECT_EQ(whole.done->entries, 3u * (1001 + 1));
  EXPECT_GE(whole.done->bytes, 3u * 1001 * 4096);
  // The archive itself has a few kilobytes.
  Layer other;
  other.file("e/" + deep + "f", "x");
  EXPECT_EQ(apply(other.bytes(), 1'000'000).error(), EFBIG);
}

TEST_F(HostileImage, SmallFilesLinksAndAttributesAreCountedAsTheDiskKeepsThem) {
  TarEntry attributed = Layer::entry_of(TarType::kFile, "with", 0644);
  attributed.xattrs.emplace_back("user.some", "x");
  const Answer answer = apply(Layer()
                                  .file("empty", "")
                                  .file("one", "1")
                                  .directory("d")
                                  .symlink("short", "one")
                                  .symlink("long", std::string(1000, 'l'))
                                  .add(attributed)
                                  .bytes());
  ASSERT_EQ(answer.error(), 0) << answer.message();
  EXPECT_EQ(answer.done->entries, 6u);
  EXPECT_EQ(answer.done->bytes, 4u * 4096);  // "one", "d", "long" and what "with" has besides
}

TEST_F(HostileImage, OwnersAndNamesAreTakenUpToTheirBounds) {
  for (const auto id : {&TarEntry::uid, &TarEntry::gid}) {
    for (const TarType type : {TarType::kFile, TarType::kSymlink}) {
      TarEntry entry = Layer::entry_of(type, "f");
      entry.link = type == TarType::kSymlink ? "x" : "";
      entry.*id = 65'535;
      must(Layer().add(entry));
      EXPECT_EQ(id == &TarEntry::uid ? facts("f").st_uid : facts("f").st_gid, 65'535u);
      entry.*id = 65'536;
      EXPECT_THAT(refused(Layer().add(entry)), HasSubstr("65535"));
    }
  }
  std::string deep;
  for (int i = 0; i < 1'999; ++i) deep += "d/";
  must(Layer().file(deep + "ff", ""));
  EXPECT_THAT(refused(Layer().file(deep + "fff", "")), HasSubstr("4000"));
  must(Layer().symlink("long", std::string(4'000, 't')));
  EXPECT_THAT(refused(Layer().symlink("longer", std::string(4'001, 't'))), HasSubstr("4000"));
  must(Layer().file(".wh.d", ""));
}

TEST_F(HostileImage, EndlessNamesAreRefused) {
  EXPECT_THAT(refused(Layer().file(std::string(5000, 'n'), "")), HasSubstr("4000"));
  std::string deep;
  for (int i = 0; i < 1'500; ++i) deep += "d/";
  must(Layer().file(deep + "f", "deep"));
  must(Layer().file(".wh.d", ""));
  EXPECT_FALSE(is_there("d"));
}

TEST_F(HostileImage, WhatIsCutOrNotCommittedIsAnError) {
  const std::string whole = gzipped(Layer().file("f", "content").bytes());
  EXPECT_EQ(apply(whole.substr(0, whole.size() / 2)).error(), EINVAL);
  EXPECT_EQ(apply("no archive at all" + std::string(600, 'x')).error(), EINVAL);
  const Answer answer =
      run_helper(request_for(FileOp::kImageIn, tree()), Layer().bytes(), Commit::kNo);
  EXPECT_NE(answer.error(), 0);
}

}  // namespace
}  // namespace glovebox::agent
