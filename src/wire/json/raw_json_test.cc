#include "wire/json/raw_json.h"

#include <gtest/gtest.h>

#include <vector>

namespace glovebox::wire {
namespace {

TEST(RawJson, GivesAMemberAsItWasWritten) {
  const std::string_view text =
      R"({"a":"x\"},\"result\":9","result" : {"n":1180591620717411303424,"f":1.50,"l":[1,{"}":"]"}]} ,"z":null})";
  EXPECT_EQ(raw_member(text, "result"),
            R"({"n":1180591620717411303424,"f":1.50,"l":[1,{"}":"]"}]})");
  EXPECT_EQ(raw_member(text, "a"), R"("x\"},\"result\":9")");
  EXPECT_EQ(raw_member(text, "z"), "null");
}

TEST(RawJson, FindsNothingWhereThereIsNothing) {
  EXPECT_EQ(raw_member(R"({"a":{"result":1}})", "result"), std::nullopt);
  EXPECT_EQ(raw_member("{}", "result"), std::nullopt);
  EXPECT_EQ(raw_member("[1]", "result"), std::nullopt);
}

TEST(RawJson, StaysWithinATextThatIsNoJson) {
  for (const std::string_view text :
       {"", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":\"\\", "{\"a\":[",
        "{\"a\":1", "{\"a\":1,", "{\"a\":1 "}) {
    // Without the NUL that literals and strings have behind their text: the sanitizer sees a read
    // beyond it.
    const std::vector<char> bytes(text.begin(), text.end());
    const std::string_view exact(bytes.data(), bytes.size());
    EXPECT_EQ(raw_member(exact, "result"), std::nullopt) << text;
    raw_member(exact, "a");
  }
}

}  // namespace
}  // namespace glovebox::wire
