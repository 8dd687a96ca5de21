#include "packages/layer_manifest.h"

#include <gtest/gtest.h>

#include "model/layer.h"

namespace glovebox::packages {
namespace {

LayerManifest a_manifest() {
  LayerManifest manifest;
  manifest.manager = "pip";
  manifest.interpreter = "cpython-3.11";
  manifest.index = "https://pypi.org/simple";
  manifest.template_name = "python";
  manifest.packages = {{"a", "1.0", "a-1.0-py3-none-any.whl", std::string(64, '1')}};
  manifest.record_request(std::string(64, 'e'), "a", 1000, "one");
  manifest.boot_id = "boot";
  manifest.checked_ms = 2000;
  return manifest;
}

TEST(LayerManifest, RoundTrips) {
  const LayerManifest manifest = a_manifest();
  auto back = parse_manifest(manifest_json(manifest));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, manifest);
}

TEST(LayerManifest, LeavesOutPackagesThatDoNotFit) {
  LayerManifest manifest = a_manifest();
  for (int i = 0; i < 500; ++i) {
    manifest.packages.push_back(
        {"package-" + std::to_string(i), "1.2.3", std::string(60, 'f'), std::string(64, '2')});
  }
  const std::string text = manifest_json(manifest);
  EXPECT_LE(text.size(), kMaxLayerNote);
  EXPECT_GT(text.size(), kMaxLayerNote - 1000) << "as many as fit";
  auto back = parse_manifest(text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_GT(back->packages_left_out, 0u);
  EXPECT_EQ(back->packages.size() + back->packages_left_out, 501u);
  EXPECT_EQ(back->asked, manifest.asked);
}

TEST(LayerManifest, FitsWithHostileContent) {
  LayerManifest manifest = a_manifest();
  manifest.index = std::string(5000, '"');
  manifest.interpreter = std::string(5000, '\xff');
  for (int i = 0; i < 2000; ++i) {
    manifest.packages.push_back({std::string(300, '\\'), std::string(300, '\x01'),
                                 std::string(300, '"'), std::string(300, 'x')});
  }
  for (int i = 0; i < 100; ++i) {
    std::string spec = std::to_string(i);
    spec.resize(64, 'e');
    manifest.record_request(spec, std::string(3000, '"'), i,
                            std::string(200, '\x02') + std::to_string(i));
  }
  const std::string text = manifest_json(manifest);
  EXPECT_LE(text.size(), kMaxLayerNote);
  auto back = parse_manifest(text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_LE(back->asked.size(), LayerManifest::kMostAsked);
}

TEST(LayerManifest, KeepsTheLatestRequestsAndProjects) {
  LayerManifest manifest = a_manifest();
  for (int i = 0; i < 40; ++i) {
    std::string spec = std::to_string(i);
    spec.resize(64, 'e');
    manifest.record_request(spec, "x", i, "p" + std::to_string(i));
  }
  ASSERT_EQ(manifest.asked.size(), LayerManifest::kMostAsked);
  EXPECT_EQ(manifest.asked.back().at_ms, 39);
  ASSERT_EQ(manifest.projects.size(), LayerManifest::kMostProjects);
  EXPECT_EQ(manifest.projects.back(), "p39");
}

TEST(LayerManifest, ARequestThatIsResolvedAgainKeepsItsProjects) {
  LayerManifest manifest = a_manifest();
  manifest.record_request(std::string(64, 'e'), "a", 5000, "two");
  ASSERT_EQ(manifest.asked.size(), 1u);
  EXPECT_EQ(manifest.asked[0].at_ms, 5000);
  EXPECT_EQ(manifest.asked[0].projects, (std::vector<std::string>{"one", "two"}));
}

TEST(LayerManifest, RecordsAProjectOnce) {
  LayerManifest manifest = a_manifest();
  EXPECT_FALSE(manifest.record_project(std::string(64, 'e'), "one"));
  EXPECT_TRUE(manifest.record_project(std::string(64, 'e'), "two"));
  EXPECT_FALSE(manifest.record_project(std::string(64, 'e'), "two"));
}

TEST(ParseManifest, RejectsInvalidText) {
  const std::string good = manifest_json(a_manifest());
  const auto with = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  ASSERT_TRUE(parse_manifest(good));
  EXPECT_FALSE(parse_manifest(""));
  EXPECT_FALSE(parse_manifest("{}"));
  EXPECT_FALSE(parse_manifest("[]"));
  EXPECT_FALSE(parse_manifest(good + "x"));
  EXPECT_FALSE(parse_manifest(with("\"form\":1", "\"form\":2")));
  EXPECT_FALSE(parse_manifest(with("\"form\":1", "\"form\":1,\"more\":1")));
  EXPECT_FALSE(parse_manifest(with("\"pip\"", "\"gem\"")));
  EXPECT_FALSE(parse_manifest(with("\"pip\"", "1")));
  EXPECT_FALSE(parse_manifest(with("\"corrupt\":false", "\"corrupt\":0")));
  EXPECT_FALSE(parse_manifest(with("\"checked_ms\":2000", "\"checked_ms\":-1")));
  EXPECT_FALSE(parse_manifest(with("\"checked_ms\":2000", "\"checked_ms\":1.5")));
  EXPECT_FALSE(parse_manifest(with(std::string(64, 'e'), "e")));
  EXPECT_FALSE(parse_manifest(with("[\"a\",", "[")));
  EXPECT_FALSE(parse_manifest(good + std::string(kMaxLayerNote, ' ')));
}

}  // namespace
}  // namespace glovebox::packages
