#include "http/cookies.h"

#include <gtest/gtest.h>

namespace glovebox::http {
namespace {

TEST(Cookies, ACookieIsFoundByItsWholeName) {
  const Headers headers{{"Cookie", "a=1; __Host-glovebox=secret; xglovebox=2; glovebox=3"}};
  const FoundCookie found = find_cookie(headers, "__Host-glovebox");
  EXPECT_EQ(found.count, 1u);
  EXPECT_EQ(found.value, "secret");
  EXPECT_EQ(find_cookie(headers, "Host-glovebox").count, 0u);
  EXPECT_EQ(find_cookie(headers, "__host-glovebox").count, 0u);
  EXPECT_EQ(find_cookie({}, "a").count, 0u);
}

TEST(Cookies, EveryCookieOfTheNameIsCounted) {
  EXPECT_EQ(find_cookie({{"Cookie", "s=1; s=2"}}, "s").count, 2u);
  EXPECT_EQ(find_cookie({{"Cookie", "s=1"}, {"cookie", "s=2"}}, "s").count, 2u);
  EXPECT_EQ(find_cookie({{"Cookie", "s=1;s;s=; s = 4"}}, "s").count, 4u);
  EXPECT_EQ(find_cookie({{"Cookie", "s=first; s=second"}}, "s").value, "first");
}

TEST(Cookies, ValuesMayHaveEqualsSignsAndBlanksAround) {
  EXPECT_EQ(find_cookie({{"Cookie", ";; s = a=b== ;"}}, "s").value, "a=b==");
  EXPECT_EQ(find_cookie({{"Cookie", "s"}}, "s").value, "");
  EXPECT_EQ(find_cookie({{"Set-Cookie", "s=1"}}, "s").count, 0u);
}

TEST(Cookies, RemovalLeavesTheOthersInTheirOrder) {
  Headers headers{{"Cookie", "a=1; s=2; b=3;s=4"}, {"X", "s=5"}, {"COOKIE", "s=6"}};
  remove_cookies(headers, "s");
  EXPECT_EQ(headers.get("Cookie"), "a=1; b=3");
  EXPECT_EQ(headers.count("Cookie"), 1u);
  EXPECT_EQ(headers.get("X"), "s=5");
}

}  // namespace
}  // namespace glovebox::http
