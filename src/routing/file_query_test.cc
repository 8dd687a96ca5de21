#include "routing/file_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/guest/session_frames.h"

namespace glovebox::routing {
namespace {

using ::testing::HasSubstr;

http::Params params(std::initializer_list<http::Params::Field> fields) {
  http::Params query;
  for (const auto& [name, value] : fields) query.add(name, value);
  return query;
}

// What `read` makes of the query; a failure's message begins with the parameter's name.
template <class Read>
std::string read(const http::Params& query, Read take) {
  FileQuery fields(query);
  const auto value = take(fields);
  if (!value) {
    EXPECT_EQ(value.error().code(), Errc::kInvalidArgument);
    return value.error().message();
  }
  return *value;
}
std::string path_of(const http::Params& query) {
  return read(query, [](FileQuery& fields) { return fields.path(); });
}

TEST(FileQuery, APathIsTextOrBase64) {
  EXPECT_EQ(path_of(params({{"path", "/a b"}})), "/a b");
  EXPECT_EQ(path_of(params({{"path_base64", "L2H/"}})), "/a\xff");
  EXPECT_EQ(path_of(params({})), "path: is missing");
  EXPECT_THAT(path_of(params({{"path", ""}})), HasSubstr("path: must not be empty"));
  EXPECT_THAT(path_of(params({{"path", std::string("a\0b", 3)}})), HasSubstr("NUL"));
  EXPECT_THAT(path_of(params({{"path_base64", "?"}})), HasSubstr("path_base64: "));
  EXPECT_THAT(path_of(params({{"path_base64", ""}})), HasSubstr("path_base64: must not be empty"));
  EXPECT_THAT(path_of(params({{"path", "/a"}, {"path_base64", "L2E="}})),
              HasSubstr("cannot be combined"));
  const std::string longest(wire::kMaxSessionPath, 'a');
  EXPECT_EQ(path_of(params({{"path", longest}})), longest);
  EXPECT_THAT(path_of(params({{"path", longest + "a"}})), HasSubstr("longer than 4096"));
}

TEST(FileQuery, AUserIsAName) {
  const auto user = [](const http::Params& query) {
    return read(query, [](FileQuery& fields) { return fields.user(); });
  };
  EXPECT_EQ(user(params({})), "user");
  EXPECT_EQ(user(params({{"user", "root"}})), "root");
  for (const char* bad : {"", "a b", "a/b", "a:b"}) {
    EXPECT_EQ(user(params({{"user", bad}})), "user: invalid user name") << bad;
  }
}

TEST(FileQuery, AnOwnerIsAUserAndPerhapsAGroup) {
  const auto owner = [](const http::Params& query) {
    return read(query, [](FileQuery& fields) { return fields.owner(); });
  };
  EXPECT_EQ(owner(params({})), "");
  EXPECT_EQ(owner(params({{"owner", "root:wheel"}})), "root:wheel");
  EXPECT_EQ(owner(params({{"owner", "7"}})), "7");
  for (const char* bad : {"", ":", "a:", ":b", "a:b:c", "a b"}) {
    EXPECT_THAT(owner(params({{"owner", bad}})), HasSubstr("owner: must be")) << bad;
  }
}

TEST(FileQuery, AModeIsOctal) {
  const auto mode = [](const http::Params& query) {
    FileQuery fields(query);
    return fields.mode();
  };
  EXPECT_EQ(*mode(params({})), std::nullopt);
  EXPECT_EQ(*mode(params({{"mode", "0644"}})), 0644u);
  EXPECT_EQ(*mode(params({{"mode", "07777"}})), 07777u);
  for (const char* bad : {"", "8", "10000", "007777", "-1", "rw"}) {
    EXPECT_FALSE(mode(params({{"mode", bad}}))) << bad;
  }
}

TEST(FileQuery, TruthHasFewWords) {
  const auto truth = [](const http::Params& query, bool otherwise = false) {
    FileQuery fields(query);
    return fields.truth("deep", otherwise);
  };
  EXPECT_EQ(*truth(params({})), false);
  EXPECT_EQ(*truth(params({}), true), true);
  for (const char* word : {"true", "1", ""}) EXPECT_EQ(*truth(params({{"deep", word}})), true);
  for (const char* word : {"false", "0"}) EXPECT_EQ(*truth(params({{"deep", word}}), true), false);
  for (const char* word : {"yes", "TRUE", "2", " 1"}) {
    EXPECT_FALSE(truth(params({{"deep", word}}))) << word;
  }
}

TEST(FileQuery, ANumberIsWithinItsBounds) {
  const auto number = [](const char* text) {
    const http::Params query = params({{"n", text}});
    FileQuery fields(query);
    return fields.whole("n", 2, 10, 5);
  };
  EXPECT_EQ(*number("2"), 2u);
  EXPECT_EQ(*number("10"), 10u);
  for (const char* bad : {"", "1", "11", "-2", "2.0", "2x", " 2", "99999999999999999999"}) {
    const auto refused = number(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message(), "n: must be a whole number from 2 to 10");
  }
  const http::Params none;
  FileQuery fields(none);
  EXPECT_EQ(*fields.whole("n", 2, 10, 5), 5u);
}

TEST(FileQuery, AParameterThatIsNotReadIsAMistake) {
  const http::Params query = params({{"path", "/a"}, {"project", "x"}, {"deeep", "1"}});
  FileQuery fields(query);
  EXPECT_TRUE(fields.path());
  const auto finished = fields.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().message(), "deeep: unknown parameter");
  EXPECT_NE(fields.text("deeep"), nullptr);
  EXPECT_TRUE(fields.finish());
}

}  // namespace
}  // namespace glovebox::routing
