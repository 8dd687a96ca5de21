#include "dialects/e2b/envd/file_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/file_entry.h"
#include "dialects/e2b/envd/filesystem_request.h"
#include "wire/guest/session_frames.h"

namespace glovebox::e2b {
namespace {

using ::testing::HasSubstr;

std::string asked(std::string_view path) {
  const auto read = request_path(path);
  return read ? *read : read.error().message();
}

TEST(E2bRequestPath, HasAtMost4096Bytes) {
  const std::string longest(wire::kMaxSessionPath, 'a');
  EXPECT_EQ(asked(longest), longest);
  EXPECT_THAT(asked(longest + "a"), HasSubstr("4096"));
}

TEST(E2bCleanPath, ResolvesParentsOnlyWhenAskedTo) {
  EXPECT_EQ(clean_path("/a/../../b", Parents::kResolved), "/b");
  EXPECT_EQ(clean_path("/../a", Parents::kResolved), "/a");
  EXPECT_EQ(clean_path("a/..", Parents::kResolved), ".");
  EXPECT_EQ(clean_path("a/..", Parents::kKept), "a/..");
}

TEST(E2bUsers, AreNamesAndNoNumbers) {
  EXPECT_EQ(*file_user(""), "user");
  for (const std::string& name :
       {std::string("root"), std::string("a0"), std::string("a9"), std::string("!"),
        std::string("~"), std::string(wire::kMaxUserName, 'a')}) {
    EXPECT_EQ(*file_user(name), name);
  }
  for (const std::string& name :
       {std::string("0"), std::string("9a"), std::string("1000"), std::string("a b"),
        std::string("a:b"), std::string("a/b"), std::string("a\x7f"), std::string("a\xc3\xa4"),
        std::string(wire::kMaxUserName + 1, 'a')}) {
    EXPECT_FALSE(file_user(name)) << name;
  }
}

TEST(E2bEntries, PermissionsAreThoseOfLs) {
  using wire::FileType;
  EXPECT_EQ(permission_text(FileType::kFile, 0644), "-rw-r--r--");
  EXPECT_EQ(permission_text(FileType::kFile, 0), "----------");
  EXPECT_EQ(permission_text(FileType::kFile, 07777), "-rwsrwsrwt");
  EXPECT_EQ(permission_text(FileType::kFile, 07000), "---S--S--T");
}

TEST(E2bEntries, TimesAreOfTheYears1To9999) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(time_text(1), "1970-01-01T00:00:00.000000001Z");
  EXPECT_EQ(time_text(-1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(time_text(-1'000'000'000), "1969-12-31T23:59:59.000000000Z");
}

TEST(E2bFields, NumbersAreOf32Bits) {
  const auto number = [](const char* value) {
    const auto message = boost::json::parse(std::string("{\"n\":") + value + "}").as_object();
    return number_field(message, "n");
  };
  EXPECT_EQ(*number("0"), 0u);
  EXPECT_EQ(*number("4294967295"), UINT32_MAX);
  EXPECT_EQ(*number("\"4294967295\""), UINT32_MAX);
  EXPECT_EQ(*number("3.0"), 3u);
  EXPECT_EQ(*number("null"), 0u);
  EXPECT_EQ(*number_field(boost::json::object{}, "n"), 0u);
  for (const char* bad : {"-1", "4294967296", "1.5", "\"\"", "\"-1\"", "\"1x\"", "\"4294967296\"",
                          "true", "[]", "1e300"}) {
    EXPECT_FALSE(number(bad)) << bad;
  }
}

TEST(E2bFields, AreEmptyFalseAndOfTheirType) {
  const auto message = boost::json::parse(R"({"t":"x","b":true,"n":1})").as_object();
  EXPECT_EQ(*text_field(message, "t"), "x");
  EXPECT_EQ(*text_field(message, "none"), "");
  EXPECT_FALSE(text_field(message, "n"));
  EXPECT_EQ(*truth_field(message, "b"), true);
  EXPECT_EQ(*truth_field(message, "none"), false);
  EXPECT_FALSE(truth_field(message, "t"));
}

}  // namespace
}  // namespace glovebox::e2b
