#include "routing/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/text_search.h"

namespace glovebox::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(QueryNumber, IsWithinItsBounds) {
  const auto number = [](const char* text) {
    http::Request request;
    request.query.add("n", text);
    return query_number(request, "n", 2, 10, 5);
  };
  EXPECT_EQ(*number("2"), 2u);
  EXPECT_EQ(*number("10"), 10u);
  for (const char* bad : {"", "1", "11", "-2", "2.0", "2x", " 2", "99999999999999999999"}) {
    const auto refused = number(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message(), "n: must be a whole number from 2 to 10");
  }
  EXPECT_EQ(*query_number(http::Request{}, "n", 2, 10, 5), 5u);
}

Result<store::SessionFilter> filter(const std::string& name, const std::string& value) {
  http::Params query;
  query.add(name, value);
  return parse_session_filter(query);
}

TEST(SessionFilterQuery, EachParameterIsRead) {
  http::Params query;
  for (const auto& [name, value] :
       {std::pair("limit", "7"), std::pair("cursor", "c"), std::pair("template", "python"),
        std::pair("agent_id", "a"), std::pair("match", "m"), std::pair("state", "running,paused"),
        std::pair("metadata.k", "v"), std::pair("metadata.", "empty"), std::pair("project", "p")}) {
    query.add(name, value);
  }
  const auto read = parse_session_filter(query);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->limit, 7u);
  EXPECT_EQ(read->cursor, "c");
  EXPECT_EQ(read->template_name, "python");
  EXPECT_EQ(read->agent_id, "a");
  EXPECT_EQ(read->name_or_prefix, "m");
  EXPECT_THAT(read->states, ElementsAre(SessionState::kRunning, SessionState::kPaused));
  EXPECT_THAT(read->metadata, ElementsAre(Pair("k", "v"), Pair("", "empty")));
}

TEST(SessionFilterQuery, APageHasOneToSoManyEntries) {
  EXPECT_EQ(filter("limit", "1")->limit, 1u);
  EXPECT_EQ(filter("limit", std::to_string(store::kMaxSessionPage))->limit, store::kMaxSessionPage);
  for (const std::string& bad :
       {std::string("0"), std::to_string(store::kMaxSessionPage + 1), std::string(""),
        std::string("1x"), std::string("-1"), std::string("4294967297")}) {
    const auto refused = filter("limit", bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message(), HasSubstr("limit: must be a whole number from 1 to"));
  }
}

TEST(SessionFilterQuery, ASearchHasAtMost200Bytes) {
  EXPECT_EQ(filter("q", "ZEbra")->search, store::search_form("zebra"));
  EXPECT_EQ(filter("q", "")->search, "");
  EXPECT_EQ(filter("q", std::string(200, 'a'))->search.size(), 200u);
  for (const std::string& bad : {std::string(201, 'a'), std::string("a\0b", 3)}) {
    const auto refused = filter("q", bad);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), "q: must have at most 200 bytes, without NUL");
  }
}

TEST(SessionFilterQuery, AnOffsetIsWithinWhatIsSorted) {
  EXPECT_EQ(filter("limit", "1")->offset, std::nullopt);
  EXPECT_EQ(filter("offset", "0")->offset, 0u);
  EXPECT_EQ(filter("offset", "2048")->offset, 2048u);
  for (const char* bad : {"", "2049", "-1", "1x", "x", "99999999999"}) {
    const auto refused = filter("offset", bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message(), "offset: must be a whole number from 0 to 2048");
  }
}

TEST(SessionFilterQuery, EachOrderHasAWordAndItsReverse) {
  using store::SessionSort;
  for (const auto& [word, sort] :
       {std::pair("created", SessionSort::kCreated), std::pair("expires", SessionSort::kExpires),
        std::pair("state", SessionSort::kState), std::pair("template", SessionSort::kTemplate),
        std::pair("name", SessionSort::kName)}) {
    const auto ascending = filter("sort", word);
    ASSERT_TRUE(ascending) << word;
    EXPECT_EQ(ascending->sort, sort) << word;
    EXPECT_TRUE(ascending->oldest_first) << word;
    EXPECT_EQ(ascending->offset, 0u) << "only placed pages are sorted";
    const auto descending = filter("sort", std::string("-") + word);
    ASSERT_TRUE(descending) << word;
    EXPECT_EQ(descending->sort, sort) << word;
    EXPECT_FALSE(descending->oldest_first) << word;
  }
  for (const char* bad : {"", "-", "--name", "name-", "age"}) {
    EXPECT_FALSE(filter("sort", bad)) << bad;
  }
}

TEST(SessionFilterQuery, APlaceAndACursorExcludeEachOther) {
  const auto both = [](const char* name, const char* value, bool cursor_first) {
    http::Params query;
    if (cursor_first) query.add("cursor", "c");
    query.add(name, value);
    if (!cursor_first) query.add("cursor", "c");
    return parse_session_filter(query);
  };
  for (const bool cursor_first : {true, false}) {
    EXPECT_FALSE(both("offset", "0", cursor_first));
    EXPECT_FALSE(both("sort", "name", cursor_first));
    EXPECT_TRUE(both("limit", "1", cursor_first));
  }
  // An order does not move a page that has its place.
  http::Params placed;
  placed.add("offset", "7");
  placed.add("sort", "name");
  EXPECT_EQ(parse_session_filter(placed)->offset, 7u);
}

TEST(SessionFilterQuery, ARouteMayReadOneParameterMore) {
  http::Params query;
  query.add("view", "x");
  EXPECT_TRUE(parse_session_filter(query, "view"));
  EXPECT_FALSE(parse_session_filter(query, "views"));
  EXPECT_FALSE(parse_session_filter(query));
  http::Params unnamed;
  unnamed.add("", "x");
  EXPECT_FALSE(parse_session_filter(unnamed));
}

TEST(SessionFilterQuery, RefusesWhatItDoesNotKnow) {
  for (const char* state : {"", "running,", ",running", "run", "running;paused"}) {
    EXPECT_FALSE(filter("state", state)) << state;
  }
  EXPECT_FALSE(filter("metadata.k", std::string("a\0b", 3)));
  EXPECT_FALSE(filter(std::string("metadata.a\0b", 12), "v"));
  EXPECT_EQ(filter("metdata.k", "v").error().message(), "metdata.k: unknown parameter");
}

}  // namespace
}  // namespace glovebox::routing
