#include "client/requests/layer_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::client {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

TEST(LayerOptions, BuildNeedsPackages) {
  LayerOptions options;
  EXPECT_THAT(new_layer_json(options).error().message(), HasSubstr("--with"));
  options.packages.with = {"pandas>=2", "numpy"};
  options.packages.preload = {"numpy"};
  options.template_name = "python-data";
  EXPECT_EQ(
      json::parse(*new_layer_json(options)),
      json::parse(
          R"({"dependencies":{"packages":["numpy","pandas>=2"],"preload":["numpy"]},"refresh":true,
                            "template":"python-data"})"));
  options.template_name = "";
  EXPECT_EQ(json::parse(*new_layer_json(options)).at("template"), "python");
  options.packages.with = {"../evil"};
  EXPECT_THAT(new_layer_json(options).error().message(), HasSubstr("--with ../evil: "));
}

TEST(LayerOptions, PruneTakesDays) {
  LayerOptions options;
  EXPECT_EQ(*prune_json(options), R"({"dry_run":false})");
  options.dry_run = true;
  options.unused_for = "7d";
  EXPECT_EQ(*prune_json(options), R"({"dry_run":true,"unused_for_s":604800})");
  options.unused_for = "90m";
  EXPECT_THAT(*prune_json(options), HasSubstr("5400"));
  options.unused_for = "-1d";
  EXPECT_THAT(prune_json(options).error().message(), HasSubstr("'-1d'"));
  options.unused_for = "soon";
  EXPECT_THAT(prune_json(options).error().message(), HasSubstr("--unused-for"));
}

}  // namespace
}  // namespace glovebox::client
