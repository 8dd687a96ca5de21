#include "signin/session_cookie.h"

#include <gtest/gtest.h>

namespace glovebox::signin {
namespace {

TEST(SessionCookie, OverHttpsItIsOfTheHostAlone) {
  const std::string name = cookie_name(true, "any");
  EXPECT_EQ(name, "__Host-glovebox");
  // What the prefix demands: Secure, Path=/ and no Domain.
  EXPECT_EQ(set_cookie_text(name, "v", true, std::chrono::seconds(60)),
            "__Host-glovebox=v; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=60");
  EXPECT_EQ(clear_cookie_text(name, true),
            "__Host-glovebox=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0");
}

TEST(SessionCookie, OnPlainLoopbackEachInstanceHasItsOwnName) {
  EXPECT_NE(cookie_name(false, "one"), cookie_name(false, "two"));
  EXPECT_EQ(cookie_name(false, "one"), cookie_name(false, "one"));
  EXPECT_EQ(cookie_name(false, "one").substr(0, 9), "glovebox-");
  EXPECT_EQ(set_cookie_text("n", "v", false, std::chrono::seconds(60)),
            "n=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=60");
}

TEST(SessionCookie, SecretsHaveOneForm) {
  const std::string secret = make_secret();
  EXPECT_TRUE(is_secret(secret));
  EXPECT_NE(secret, make_secret());
  EXPECT_FALSE(is_secret(""));
  EXPECT_FALSE(is_secret(secret + "a"));
  EXPECT_FALSE(is_secret(std::string(kSecretLength, 'A')));
}

TEST(SessionCookie, WhatIsStoredAndWhatThePageKnowsAreNotTheSame) {
  const std::string secret = make_secret();
  EXPECT_NE(digest_of(secret), csrf_token(secret));
  EXPECT_NE(csrf_token(secret), csrf_token(make_secret()));
  EXPECT_EQ(digest_of(secret).size(), 64u);
}

}  // namespace
}  // namespace glovebox::signin
