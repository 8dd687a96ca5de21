// Lines of a runtime, which guest code can write, too.
#include "wire/guest/guest_result.h"

#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

namespace json = boost::json;

json::object content_of(const std::string& mime) {
  const auto result = parse_guest_result(R"({"type":"result","mime":)" + mime + "}");
  return result ? result->content : json::object();
}

TEST(GuestResult, TextAndJsonAreKept) {
  const json::object content =
      content_of(R"({"text/plain":"1","application/json":[1],"application/vnd.a+json":{"b":2}})");
  EXPECT_EQ(json::value(content), json::parse(R"({"text/plain":"1","application/json":[1],)"
                                              R"("application/vnd.a+json":{"b":2}})"));
}

TEST(GuestResult, RegisteredTypesHoldTextOnly) {
  for (const char* type : {"text/html", "image/png", "application/pdf", "model/x", "video/y"}) {
    const std::string name = std::string("\"") + type + "\"";
    EXPECT_TRUE(content_of("{" + name + R"(:{"a":1}})").empty()) << type;
    EXPECT_TRUE(content_of("{" + name + ":7}").empty()) << type;
    EXPECT_EQ(content_of("{" + name + R"(:"a"})").size(), 1u) << type;
  }
}

TEST(GuestResult, ATypeOfItsOwnMayHoldJson) {
  EXPECT_EQ(content_of(R"({"myapp/plot":{"a":1}})").at("myapp/plot"), json::parse(R"({"a":1})"));
  EXPECT_TRUE(content_of(R"({"no type":{"a":1},"/x":{},"x/":{}})").empty());
}

TEST(GuestResult, WhatIsNoResultIsDropped) {
  for (const char* line :
       {"", "{}", "[]", "nonsense", R"({"type":"result"})", R"({"type":"result","mime":{}})",
        R"({"type":"error"})", R"({"type":"other","mime":{"text/plain":"1"}})"}) {
    EXPECT_FALSE(parse_guest_result(line)) << line;
  }
}

TEST(SortResults, TheLastOfAKindCounts) {
  const SortedResults sorted =
      sort_results({R"({"type":"result","mime":{"text/plain":"1"}})",
                    R"({"type":"result","mime":{"text/plain":"2"},"main":true})",
                    R"({"type":"result","mime":{"text/plain":"3"},"main":true})", "nonsense",
                    R"({"type":"error","name":"A"})"});
  EXPECT_EQ(sorted.main, json::parse(R"({"text/plain":"3"})"));
  EXPECT_EQ(sorted.shown.size(), 1u);
  EXPECT_EQ(sorted.exception.at("name"), "A");
}

}  // namespace
}  // namespace glovebox::wire
