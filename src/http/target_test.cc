#include "http/target.h"

#include <gtest/gtest.h>

#include "base/percent_encoding.h"

namespace glovebox::http {
namespace {

TEST(Target, SplitsPathAndQueryAndDecodesBoth) {
  const Result<Target> target = parse_target("/v1/a%20b/c?x=1&x=2+3&empty&y=%26");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->raw_path, "/v1/a%20b/c");
  EXPECT_EQ(target->path, "/v1/a b/c");
  ASSERT_EQ(target->query.size(), 4u);
  EXPECT_EQ(target->query.get("x"), "1");
  EXPECT_EQ((target->query.begin() + 1)->second, "2 3");
  EXPECT_NE(target->query.find("empty"), nullptr);
  EXPECT_EQ(target->query.get("y"), "&");
}

TEST(Target, TakesTheAbsoluteForm) {
  const Result<Target> target = parse_target("http://localhost:70/p?q=1");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->host, "localhost:70");
  EXPECT_EQ(target->path, "/p");
  EXPECT_EQ(parse_target("http://localhost")->path, "/");
}

TEST(Target, RefusesWhatIsNotAPath) {
  for (const std::string_view text :
       {"", "a", "?x", "/%", "/%4", "/%zz", "/a%00b", "/a#b", "/a b", "http://", "/?x=%f", "*x",
        "/\x1f", "/\x7f", "/?a b", "/?#"}) {
    EXPECT_FALSE(parse_target(text).has_value()) << text;
  }
  EXPECT_TRUE(parse_target("/!~").has_value()) << "the first and the last that are printed";
}

TEST(Target, EncodingIsUndoneByDecoding) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(all)).value(), all);
}

}  // namespace
}  // namespace glovebox::http
