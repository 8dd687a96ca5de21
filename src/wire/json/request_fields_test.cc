#include "wire/json/request_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/guest/guest_frames.h"
#include "wire/guest/session_frames.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RequestFields, AVariablesNameIsOneOfTheShells) {
  for (const char* name : {"a", "z", "A", "Z", "_", "_0", "a9", "azAZ09_"}) {
    EXPECT_TRUE(is_variable_name(name)) << name;
  }
  for (const char* name :
       {"", "0a", "9a", "a-b", "a=b", "a b", "a`", "a{", "a@", "a[", "a/", "a:", "\xc3\xa4"}) {
    EXPECT_FALSE(is_variable_name(name)) << name;
  }
}

TEST(RequestFields, AUserIsAFieldOfPasswd) {
  EXPECT_TRUE(is_user_name("root"));
  EXPECT_TRUE(is_user_name("1000"));
  EXPECT_TRUE(is_user_name("!"));  // the first character behind the blank
  EXPECT_TRUE(is_user_name("~"));
  EXPECT_TRUE(is_user_name(std::string(kMaxUserName, 'a')));
  EXPECT_FALSE(is_user_name(std::string(kMaxUserName + 1, 'a')));
  for (const char* name : {"", " ", "a b", "a:b", "a/b", "a\n", "a\x7f", "\t"}) {
    EXPECT_FALSE(is_user_name(name)) << name;
  }
}

std::string read(const json::value& env) {
  const json::value object = json::object{{"env", env}};
  ObjectReader fields = ObjectReader::open(object, "").value();
  const auto variables = read_environment(fields, "env");
  if (!variables) return variables.error().message();
  std::string text;
  for (const std::string& one : *variables) text += one + ";";
  return text;
}

TEST(RequestFields, AnEnvironmentIsAnObjectOfStrings) {
  EXPECT_EQ(read(json::parse(R"({"A":"1","B":""})")), "A=1;B=;");
  EXPECT_EQ(read(nullptr), "");
  EXPECT_THAT(read(json::parse("[]")), HasSubstr("env: must be an object"));
  EXPECT_THAT(read(json::parse(R"({"A":1})")), HasSubstr("env.A"));
  EXPECT_THAT(read(json::parse(R"({"A-B":"1"})")), HasSubstr("env.A-B"));
  EXPECT_THAT(read(json::parse(R"({"A":"a\u0000b"})")), HasSubstr("NUL"));
}

TEST(RequestFields, AnEnvironmentHasAtMost1024EntriesAnd64Kilobytes) {
  json::object many;
  for (int i = 0; i < 1024; ++i) many["A" + std::to_string(i)] = "";
  EXPECT_THAT(read(many), Not(HasSubstr("at most")));
  many["B"] = "";
  EXPECT_THAT(read(many), HasSubstr("at most 1024 entries"));
  // "A=" and the NUL behind the value count, too.
  EXPECT_THAT(read(json::object{{"A", std::string(kMaxExecBytes / 2 - 3, 'x')}}),
              Not(HasSubstr("larger")));
  EXPECT_THAT(read(json::object{{"A", std::string(kMaxExecBytes / 2 - 2, 'x')}}),
              HasSubstr("larger than 64 KB"));
}

}  // namespace
}  // namespace glovebox::wire
