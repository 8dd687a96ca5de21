#include "client/output/layer_text.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::client {
namespace {

namespace json = boost::json;

TEST(LayerText, SizesAndAgesAsText) {
  EXPECT_EQ(size_text(0), "0");
  EXPECT_EQ(size_text(1023), "1023");
  EXPECT_EQ(size_text(1536), "1.5K");
  EXPECT_EQ(size_text(40ull << 20), "40M");
  EXPECT_EQ(size_text(3ull << 30), "3.0G");
  constexpr std::int64_t kNow = 1'700'000'000;  // 2023-11-14T22:13:20Z
  EXPECT_EQ(age_text("2023-11-14T22:13:15.250Z", kNow), "5s");
  EXPECT_EQ(age_text("2023-11-14T22:01:20Z", kNow), "12m");
  EXPECT_EQ(age_text("2023-11-13T22:13:20Z", kNow), "24h");
  EXPECT_EQ(age_text("2023-11-04T22:13:20Z", kNow), "10d");
  EXPECT_EQ(age_text("2024-01-01T00:00:00Z", kNow), "0s");
  EXPECT_EQ(age_text("-", kNow), "-");
}

TEST(LayerText, SaysWhatAPruneRemoved) {
  EXPECT_EQ(pruned_text(R"({"removed":["aa","b\u001b"],"bytes":1536,"dry_run":false})", "layers"),
            "aa\nb\\x1b\nremoved 2 layers, 1.5K\n");
  EXPECT_EQ(pruned_text(R"({"removed":[],"bytes":0,"dry_run":true})", "images"),
            "would remove 0 images, 0\n");
  EXPECT_FALSE(pruned_text(R"({"bytes":0})", "images").has_value());
  EXPECT_FALSE(pruned_text("nonsense", "images").has_value());
}

TEST(LayerText, ListsPackagesOnOneLine) {
  const json::object layer =
      json::parse(R"({"packages":[{"name":"a","version":"1"},{"name":"b","version":"2"},7,
                                  {"name":"c","version":"3"}]})")
          .as_object();
  EXPECT_EQ(packages_text(layer, 2), "a 1, b 2 and 1 more");
  EXPECT_EQ(packages_text(layer, 3), "a 1, b 2, c 3");
  EXPECT_EQ(packages_text(json::object(), 3), "-");
}

}  // namespace
}  // namespace glovebox::client
