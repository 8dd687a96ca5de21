#include "client/requests/template_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

TEST(TemplateWords, PackagesAreForPythonUnlessSomethingElseIsSaid) {
  NewTemplateWords words;
  EXPECT_THAT(new_template_json("x", words).error().message(), HasSubstr("--from BASE is missing"));
  words.with = {"six"};
  EXPECT_EQ(*new_template_json("x", words),
            R"({"name":"x","from":"python","profile":{"dependencies":{"packages":["six"]}}})");
  words.from = "node";
  EXPECT_THAT(*new_template_json("x", words), HasSubstr(R"("from":"node")"));
  words.with = {"../evil"};
  EXPECT_THAT(new_template_json("x", words).error().message(), HasSubstr("--with ../evil: "));
}

TEST(TemplateWords, ModulesAreTheTemplates) {
  NewTemplateWords words;
  words.with = {"six"};
  words.preload = {"six,json"};
  EXPECT_THAT(*new_template_json("x", words), HasSubstr(R"("preload":["six","json"])"));
}

TEST(TemplateWords, ASnapshotHasEverythingAlready) {
  NewTemplateWords words;
  words.snapshot = "sn1";
  words.description = "ours";
  EXPECT_EQ(*new_template_json("x", words),
            R"({"name":"x","snapshot":"sn1","description":"ours"})");
  words.with = {"six"};
  EXPECT_THAT(new_template_json("x", words).error().message(), HasSubstr("--snapshot goes alone"));
}

}  // namespace
}  // namespace glovebox::client
