#include "dialects/e2b/access_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::e2b {
namespace {

using ::testing::MatchesRegex;

TEST(AccessTokens, BelongToOneSandboxOfOneServer) {
  const AccessTokens tokens("a secret of the tests");
  const std::string token = tokens.token_of("sbone");
  EXPECT_THAT(token, MatchesRegex("ea_[0-9a-f]{64}"));
  EXPECT_EQ(tokens.token_of("sbone"), token);
  EXPECT_TRUE(tokens.is_valid("sbone", token));
  EXPECT_FALSE(tokens.is_valid("sbtwo", token));
  EXPECT_FALSE(tokens.is_valid("sbone", ""));
  EXPECT_FALSE(tokens.is_valid("sbone", token.substr(0, token.size() - 1)));
  EXPECT_FALSE(AccessTokens("another server").is_valid("sbone", token));
}

TEST(AccessTokens, NoneIsValidWithoutASecret) {
  const AccessTokens tokens("");
  EXPECT_FALSE(tokens.is_valid("sbone", ""));
  EXPECT_FALSE(tokens.is_valid("sbone", tokens.token_of("sbone")));
}

}  // namespace
}  // namespace glovebox::e2b
