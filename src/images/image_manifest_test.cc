#include "images/image_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::images {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kDigest(64, 'a');

std::string config_with(const std::string& config) {
  return R"({"os":"linux","architecture":"amd64","config":)" + config +
         R"(,"rootfs":{"type":"layers","diff_ids":["sha256:)" + kDigest + R"("]},"other":[1]})";
}

TEST(ImageManifest, ReadsWhatIsHonoured) {
  const auto found = parse_image_config(config_with(
      R"({"User":"app:staff","WorkingDir":"/srv","Env":["A=1","B="],"Entrypoint":["/run"],
          "Cmd":["x"],"Labels":{"a":"b"},"ExposedPorts":{"80/tcp":{}}})"));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->config.user, "app:staff");
  EXPECT_EQ(found->config.workdir, "/srv");
  EXPECT_THAT(found->config.env, ElementsAre("A=1", "B="));
  EXPECT_THAT(found->config.entrypoint, ElementsAre("/run"));
  EXPECT_THAT(found->config.cmd, ElementsAre("x"));
  EXPECT_EQ(found->platform, "linux/amd64");
  EXPECT_THAT(found->diff_ids, ElementsAre(kDigest));
}

TEST(ImageManifest, NothingNeedBeSaid) {
  for (const char* config : {"null", "{}", R"({"User":null,"Env":null,"Cmd":null})"}) {
    const auto found = parse_image_config(config_with(config));
    ASSERT_TRUE(found) << config;
    EXPECT_EQ(found->config, ImageConfig{});
  }
}

TEST(ImageManifest, RefusesWhatIsMalformed) {
  for (const char* config :
       {R"({"User":5})", R"({"WorkingDir":"srv"})", R"({"Env":"A=1"})", R"({"Env":["A"]})",
        R"({"Env":["=1"]})", R"({"Cmd":[1]})", R"({"Env":["A=1\u0000"]})"}) {
    EXPECT_FALSE(parse_image_config(config_with(config))) << config;
  }
  EXPECT_FALSE(
      parse_image_config(config_with(R"({"Env":["A=)" + std::string(20'000, 'x') + "\"]}")));
  EXPECT_FALSE(parse_image_config("[]"));
  EXPECT_FALSE(parse_image_config("{}"));
  EXPECT_FALSE(parse_image_config(R"({"rootfs":{"diff_ids":["md5:00"]}})"));
  EXPECT_FALSE(parse_image_config(R"({"rootfs":{"diff_ids":["sha256:00"]}})"));
}

TEST(ImageManifest, BoundsEveryList) {
  std::string layer = R"({"digest":"sha256:)" + kDigest + R"(","size":1})";
  std::string many = layer;
  for (std::size_t i = 0; i < kMaxImageLayers; ++i) many += "," + layer;
  const auto manifest = parse_manifest(R"({"config":)" + layer + R"(,"layers":[)" + many + "]}");
  ASSERT_FALSE(manifest);
  EXPECT_THAT(manifest.error().message(), HasSubstr("more than"));
  EXPECT_FALSE(parse_index(std::string(kMaxManifestBytes + 1, ' ')));
  EXPECT_TRUE(parse_manifest(R"({"config":)" + layer + R"(,"layers":[)" + layer + "]}"));
}

TEST(ImageManifest, ReadsDockersList) {
  const auto found = parse_docker_manifests(
      R"([{"Config":"c.json","RepoTags":["x:1"],"Layers":["l/layer.tar"]},
          {"Config":"d.json","RepoTags":null,"Layers":[]}])");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->at(0).names, ElementsAre("x:1"));
  EXPECT_THAT(found->at(1).names, ElementsAre());
  EXPECT_FALSE(parse_docker_manifests(R"({"Config":"c"})"));
  EXPECT_FALSE(parse_docker_manifests(R"([{"Layers":[]}])"));
}

}  // namespace
}  // namespace glovebox::images
