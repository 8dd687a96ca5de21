#include "client/requests/template_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

TEST(TemplateOptions, PackagesDefaultToThePythonTemplate) {
  NewTemplateOptions options;
  EXPECT_THAT(new_template_json("x", options).error().message(),
              HasSubstr("--from BASE is missing"));
  options.packages.with = {"six"};
  EXPECT_EQ(*new_template_json("x", options),
            R"({"name":"x","from":"python","profile":{"dependencies":{"packages":["six"]}}})");
  options.from = "node";
  EXPECT_THAT(*new_template_json("x", options), HasSubstr(R"("from":"node")"));
  options.packages.with = {"../evil"};
  EXPECT_THAT(new_template_json("x", options).error().message(), HasSubstr("--with ../evil: "));
}

TEST(TemplateOptions, PreloadedModulesBelongToTheTemplate) {
  NewTemplateOptions options;
  options.packages.with = {"six"};
  options.packages.preload = {"six,json"};
  EXPECT_THAT(*new_template_json("x", options), HasSubstr(R"("preload":["six","json"])"));
}

TEST(TemplateOptions, AnImageNeedsNoBase) {
  NewTemplateOptions options;
  options.image = "base:1";
  EXPECT_EQ(*new_template_json("x", options), R"({"name":"x","profile":{"image":"base:1"}})");
  options.from = "node";
  EXPECT_THAT(*new_template_json("x", options), HasSubstr(R"("from":"node")"));
}

TEST(TemplateOptions, ASnapshotExcludesOtherOptions) {
  NewTemplateOptions options;
  options.snapshot = "sn1";
  options.description = "ours";
  EXPECT_EQ(*new_template_json("x", options),
            R"({"name":"x","snapshot":"sn1","description":"ours"})");
  options.packages.with = {"six"};
  EXPECT_THAT(new_template_json("x", options).error().message(),
              HasSubstr("--snapshot cannot be combined"));
}

}  // namespace
}  // namespace glovebox::client
