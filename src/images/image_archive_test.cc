// Archives of both forms, and those that are not what they say.
#include "images/image_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "images/testing/archive_builder.h"

namespace glovebox::images {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<ArchivedImage> read(const ArchiveBuilder& archive, const std::string& name = {}) {
  const UniqueFd file = archive.as_file();
  return read_image_archive(file.get(), name);
}

std::string why_not(const ArchiveBuilder& archive, const std::string& name = {}) {
  const auto image = read(archive, name);
  EXPECT_FALSE(image);
  return image ? std::string() : image.error().message();
}

TEST(ImageArchive, ReadsOcisForm) {
  const OciArchive oci{.layers = {"one", "the second"}, .config = R"({"User":"app"})"};
  const ArchiveBuilder archive = oci.build();
  const auto image = read(archive);
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_THAT(image->names, ElementsAre("test:1"));
  EXPECT_EQ(image->config.user, "app");
  ASSERT_EQ(image->layers.size(), 2u);
  EXPECT_EQ(archive.bytes().substr(image->layers[1].offset, image->layers[1].size), "the second");
  EXPECT_EQ(image->layers[0].diff_id, sha256_of("one"));
}

TEST(ImageArchive, ReadsDockersForm) {
  ArchiveBuilder archive;
  const std::string config = config_json({sha256_of("one"), sha256_of("one"), sha256_of("two")});
  const std::string name = sha256_of(config) + ".json";
  archive.file("a/layer.tar", "one")
      .symlink("b/layer.tar", "../a/layer.tar")
      .file("c/layer.tar", "two")
      .file(name, config)
      .file("manifest.json", R"([{"Config":")" + name +
                                 R"(","RepoTags":["docker.io/library/x:1","BAD NAME"],
                                 "Layers":["a/layer.tar","b/layer.tar","./c/layer.tar"]}])");
  const auto image = read(archive);
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_THAT(image->names, ElementsAre("x:1"));
  EXPECT_EQ(image->digest, sha256_of(config));
  ASSERT_EQ(image->layers.size(), 3u);
  EXPECT_EQ(image->layers[0].offset, image->layers[1].offset);
  EXPECT_EQ(archive.bytes().substr(image->layers[2].offset, image->layers[2].size), "two");
}

TEST(ImageArchive, OneOfSeveralIsChosenByItsName) {
  ArchiveBuilder archive;
  std::string entries;
  for (const std::string name : {"x:1", "y:2"}) {
    const std::string config = config_json({}, R"({"User":")" + name.substr(0, 1) + "\"}");
    archive.file(name.substr(0, 1) + ".json", config);
    entries += (entries.empty() ? "" : ",") + std::string(R"({"Config":")") + name.substr(0, 1) +
               R"(.json","RepoTags":[")" + name + R"("],"Layers":[]})";
  }
  archive.file("manifest.json", "[" + entries + "]");
  EXPECT_THAT(why_not(archive), HasSubstr("x:1 y:2"));
  EXPECT_THAT(why_not(archive, "z:1"), HasSubstr("several"));
  EXPECT_EQ(read(archive, "y:2")->config.user, "y");
}

TEST(ImageArchive, RefusesOtherPlatforms) {
  const OciArchive oci{.layers = {}, .platform = "linux/s390x"};
  EXPECT_THAT(why_not(oci.build()), HasSubstr("linux/s390x"));
}

TEST(ImageArchive, RefusesWhatIsNotWhatItsDigestSays) {
  const std::string manifest =
      R"({"config":)" + descriptor_json(sha256_of("c"), 1) + R"(,"layers":[]})";
  ArchiveBuilder wrong_manifest;
  wrong_manifest.file("blobs/sha256/" + std::string(64, '0'), manifest)
      .file("index.json",
            R"({"manifests":[)" + descriptor_json(std::string(64, '0'), manifest.size()) + "]}");
  EXPECT_THAT(why_not(wrong_manifest), HasSubstr("another digest"));

  // Of the parts of a good one, each changed in turn.
  const OciArchive oci{.layers = {"the layer"}};
  const std::string good = oci.build().bytes();
  for (const std::string part : {"the layer", "created_by", "schemaVersion\":2,\"config"}) {
    std::string bad = good;
    const std::size_t at = bad.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    const UniqueFd file(ArchiveBuilder().as_file());
    ASSERT_EQ(::pwrite(file.get(), bad.data(), bad.size(), 0), static_cast<ssize_t>(bad.size()));
    const auto image = read_image_archive(file.get(), "");
    ASSERT_FALSE(image) << part;
    EXPECT_THAT(image.error().message(), HasSubstr("another digest")) << part;
  }
}

TEST(ImageArchive, RefusesWhatIsMissing) {
  EXPECT_THAT(why_not(ArchiveBuilder().file("x", "y")), HasSubstr("neither"));
  EXPECT_THAT(why_not(ArchiveBuilder()), HasSubstr("neither"));
  ArchiveBuilder lacks_blob;
  lacks_blob.file("index.json",
                  R"({"manifests":[)" + descriptor_json(std::string(64, '1'), 5) + "]}");
  EXPECT_THAT(why_not(lacks_blob), HasSubstr("it lacks sha256:1111"));
  const OciArchive uneven{.layers = {"one"}, .diff_ids = {sha256_of("a"), sha256_of("b")}};
  EXPECT_THAT(why_not(uneven.build()), HasSubstr("numbers of layers"));
  ArchiveBuilder loop;
  loop.symlink("a", "b").symlink("b", "a").file("manifest.json", R"([{"Config":"a","Layers":[]}])");
  EXPECT_THAT(why_not(loop), HasSubstr("it lacks a"));
}

TEST(ImageArchive, EndsEndlessIndexes) {
  // Each index names the next one; the innermost is never reached.
  ArchiveBuilder archive;
  std::string text = R"({"manifests":[]})";
  for (int i = 0; i < 10; ++i) {
    const std::string digest = archive.blob(text);
    text =
        R"({"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:)" +
        digest + R"(","size":)" + std::to_string(text.size()) + "}]}";
  }
  archive.file("index.json", text);
  EXPECT_THAT(why_not(archive), HasSubstr("nested too deeply"));
  ArchiveBuilder many;
  for (int i = 0; i < 8'200; ++i) many.file("f" + std::to_string(i), "");
  EXPECT_THAT(why_not(many), HasSubstr("too many files"));
}

TEST(ImageArchive, APlainTreeIsOneLayer) {
  ArchiveBuilder tree;
  tree.file("bin/x", "1");
  const UniqueFd file = tree.as_file();
  const auto image = read_root_archive(file.get());
  ASSERT_TRUE(image);
  EXPECT_EQ(image->digest, sha256_of(tree.bytes()));
  ASSERT_EQ(image->layers.size(), 1u);
  EXPECT_EQ(image->layers[0].size, tree.bytes().size());
  EXPECT_THAT(image->layers[0].diff_id, IsEmpty());
}

}  // namespace
}  // namespace glovebox::images
