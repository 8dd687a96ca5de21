#include "config/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/value.h"

namespace glovebox::config {
namespace {

using ::testing::HasSubstr;

TEST(Keys, NamesAndVariablesAreUnique) {
  std::set<std::string> seen;
  for (const Key& key : all_keys()) {
    EXPECT_TRUE(seen.insert(std::string(key.name)).second) << key.name;
    EXPECT_TRUE(seen.insert(variable_of(key)).second) << key.name;
    if (!key.short_variable.empty()) {
      EXPECT_TRUE(seen.insert(std::string(key.short_variable)).second) << key.name;
    }
  }
}

TEST(Keys, EveryDefaultIsAcceptedAndEveryKeyHasHelp) {
  for (const Key& key : all_keys()) {
    Settings settings;
    const auto assigned = assign(settings, key, std::string(key.default_text));
    EXPECT_TRUE(assigned) << key.name << " " << assigned.error().message();
    EXPECT_GT(key.help.size(), 10u) << key.name;
  }
}

TEST(Keys, AreFoundByTheirNameOnly) {
  ASSERT_NE(find_key("server.listen"), nullptr);
  EXPECT_EQ(variable_of(*find_key("server.listen")), "GLOVEBOX_SERVER_LISTEN");
  EXPECT_EQ(find_key("server.Listen"), nullptr);
  EXPECT_EQ(find_key(""), nullptr);
}

TEST(Keys, SuggestsTheNearestName) {
  EXPECT_THAT(suggestion_for_key("server.lisen"), HasSubstr("'server.listen'"));
  EXPECT_THAT(suggestion_for_key("server.data-dir"), HasSubstr("'server.data_dir'"));
  EXPECT_THAT(suggestion_for_key("pool.max"), HasSubstr("'pools.max'"));
  EXPECT_THAT(suggestion_for_key("servre.listne"), HasSubstr("'server.listen'"));
}

TEST(Keys, SuggestsTheSectionThatWasForgotten) {
  EXPECT_THAT(suggestion_for_key("listen"), HasSubstr("'server.listen'"));
  EXPECT_THAT(suggestion_for_key("server.retention_age"), HasSubstr("'store.retention_age'"));
}

TEST(Keys, SuggestsNothingForAnotherWord) {
  EXPECT_EQ(suggestion_for_key("kitchen.sink"), "");
  EXPECT_EQ(suggestion_for_key(std::string(100000, 'a')), "");
}

}  // namespace
}  // namespace glovebox::config
