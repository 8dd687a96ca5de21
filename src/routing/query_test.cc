#include "routing/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
