#include "dialects/e2b/control/template_names.h"

#include <gtest/gtest.h>

#include "api/testing/test_server.h"

namespace glovebox::e2b {
namespace {

class TemplateNamesTest : public ::testing::Test {
 protected:
  std::string kept(std::string_view name) {
    const auto made = names_.new_snapshot_name("one", name);
    return made ? *made : made.error().message();
  }
  bool is_taken(std::string_view name) { return names_.new_snapshot_name("one", name).has_value(); }

  api::TestServer server_;
  TemplateNames names_{server_.node, *server_.templates, *server_.snapshots};
};

TEST_F(TemplateNamesTest, ANewNameHasLettersDigitsAndThreeMarks) {
  for (const char* name :
       {"a", "z", "A", "Z", "0", "9", "-", "_", ".", "azAZ09-_.", "x:azAZ09-_."}) {
    EXPECT_EQ(kept(name), name);
  }
  for (const char* name :
       {"", "a b", "a`", "a{", "a@", "a[", "a;", "a,", "a:b c", "a:b/", ":x", "a\xc3\xa4"}) {
    EXPECT_FALSE(is_taken(name)) << name;
  }
}

TEST_F(TemplateNamesTest, ANewNameIsKeptWithoutTheProjectAndTheDefaultTag) {
  EXPECT_EQ(kept("one/mine"), "mine");
  EXPECT_EQ(kept("one/mine:default"), "mine");
  EXPECT_EQ(kept("mine:"), "mine");
  EXPECT_EQ(kept("mine:v2"), "mine:v2");
  EXPECT_NE(kept("two/mine").find("the namespace must be"), std::string::npos);
  EXPECT_FALSE(is_taken("snaaaaaaaaaaaaaaaaaaaa"));  // an id is no name
}

TEST_F(TemplateNamesTest, WhatIsTooLongIsNotFound) {
  for (const std::size_t size : {256, 257}) {
    const auto found = names_.find("one", std::string(size, 'x'));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::kNotFound);
  }
}

store::SnapshotRecord snapshot(const std::string& name) {
  store::SnapshotRecord record{.id = store::SnapshotId::make()};
  record.project = "one";
  record.name = name;
  return record;
}

TEST(SnapshotNames, MatchWithOrWithoutProjectAndTag) {
  const store::SnapshotRecord plain = snapshot("mine");
  for (const std::string& asked :
       {std::string("mine"), std::string("one/mine"), std::string("mine:default"),
        std::string("one/mine:default"), plain.id.str(), plain.id.str() + ":default"}) {
    EXPECT_TRUE(matches_name(plain, asked)) << asked;
  }
  for (const std::string& asked : {std::string("two/mine"), std::string("mine:v2"),
                                   std::string("min"), std::string(""), plain.id.str() + ":v2"}) {
    EXPECT_FALSE(matches_name(plain, asked)) << asked;
  }
  const store::SnapshotRecord tagged = snapshot("mine:v2");
  EXPECT_TRUE(matches_name(tagged, "mine:v2"));
  EXPECT_FALSE(matches_name(tagged, "mine"));
  const store::SnapshotRecord unnamed = snapshot("");
  EXPECT_FALSE(matches_name(unnamed, ""));
  EXPECT_EQ(snapshot_name(unnamed), "");
  EXPECT_EQ(snapshot_name(plain), "one/mine:default");
  EXPECT_EQ(snapshot_name(tagged), "one/mine:v2");
}

}  // namespace
}  // namespace glovebox::e2b
