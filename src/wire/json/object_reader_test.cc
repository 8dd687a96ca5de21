#include "wire/json/object_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::wire {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The field "x" of {"x": VALUE}, read by `take`.
template <class Take>
auto read(std::string_view value, Take take) {
  const json::value object = json::parse("{\"x\":" + std::string(value) + "}");
  ObjectReader fields = ObjectReader::open(object, "at").value();
  return take(fields);
}
Result<std::optional<std::uint64_t>> whole(std::string_view value) {
  return read(value, [](ObjectReader& fields) { return fields.whole("x", 2, 1'000'000); });
}
Result<std::optional<double>> number(std::string_view value) {
  return read(value, [](ObjectReader& fields) { return fields.number("x", 0.5, 8); });
}
Result<std::optional<std::string>> text(std::string_view value) {
  return read(value, [](ObjectReader& fields) { return fields.text("x", 3); });
}
Result<std::vector<std::string>> texts(std::string_view value) {
  return read(value, [](ObjectReader& fields) { return fields.texts("x", 2, 3); });
}

TEST(ObjectReader, WholeNumbersIncludeTheirBounds) {
  EXPECT_EQ(*whole("2"), 2u);
  EXPECT_EQ(*whole("1000000"), 1'000'000u);
  EXPECT_EQ(*whole("5.0"), 5u);
  EXPECT_EQ(*whole("null"), std::nullopt);
  for (const char* value : {"1", "1000001", "-2", "2.5", "\"2\"", "true", "1e300", "[]"}) {
    const auto refused = whole(value);
    ASSERT_FALSE(refused) << value;
    EXPECT_EQ(refused.error().message(), "at.x: must be a whole number from 2 to 1000000");
  }
}

TEST(ObjectReader, ADoubleIsAWholeNumberUpTo2To53) {
  const auto any = [](std::string_view value) {
    return read(value, [](ObjectReader& fields) { return fields.whole("x", 0, UINT64_MAX); });
  };
  EXPECT_EQ(*any("0"), 0u);
  EXPECT_EQ(*any("0.0"), 0u);
  EXPECT_EQ(*any("9007199254740992.0"), 9'007'199'254'740'992u);
  EXPECT_FALSE(any("9007199254740994.0"));
  EXPECT_FALSE(any("-1.0"));
}

TEST(ObjectReader, NumbersIncludeTheirBounds) {
  EXPECT_EQ(*number("0.5"), 0.5);
  EXPECT_EQ(*number("8"), 8);
  EXPECT_EQ(*number("null"), std::nullopt);
  for (const char* value : {"0.4999", "8.0001", "0", "9", "-1", "\"1\"", "true"}) {
    EXPECT_FALSE(number(value)) << value;
  }
}

TEST(ObjectReader, TextsIncludeTheirBounds) {
  EXPECT_EQ(*text("\"abc\""), "abc");
  EXPECT_EQ(*text("\"\""), "");
  EXPECT_FALSE(text("\"abcd\""));
  EXPECT_FALSE(text("1"));
  EXPECT_THAT(*texts(R"(["abc",""])"), ElementsAre("abc", ""));
  for (const char* value : {R"(["a","b","c"])", R"(["abcd"])", R"([1])", R"("a")", "{}"}) {
    EXPECT_FALSE(texts(value)) << value;
  }
  EXPECT_THAT(texts(R"(["a","abcd"])").error().message(), HasSubstr("at.x[1]: must have at most"));
}

TEST(ObjectReader, TruthIsTrueOrFalse) {
  const auto truth = [](std::string_view value) {
    return read(value, [](ObjectReader& fields) { return fields.truth("x"); });
  };
  EXPECT_EQ(*truth("true"), true);
  EXPECT_EQ(*truth("false"), false);
  EXPECT_EQ(*truth("null"), std::nullopt);
  for (const char* value : {"1", "0", "\"true\"", "[]"}) EXPECT_FALSE(truth(value)) << value;
}

TEST(ObjectReader, AFieldThatNothingTookIsAMistake) {
  const json::value object = json::parse(R"({"known":1,"knwon":2})");
  ObjectReader fields = ObjectReader::open(object, "").value();
  fields.take("known");
  const auto finished = fields.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().message(), "knwon: unknown field; did you mean \"known\"?");
  fields.take("knwon");
  EXPECT_TRUE(fields.finish());
  EXPECT_FALSE(ObjectReader::open(json::parse("[]"), ""));
}

TEST(CheckNoNul, SaysWhere) {
  EXPECT_TRUE(check_no_nul("abc", "x"));
  EXPECT_FALSE(check_no_nul(std::string_view("a\0b", 3), "x"));
}

}  // namespace
}  // namespace glovebox::wire
