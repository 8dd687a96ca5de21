#include "http/router.h"

#include <gtest/gtest.h>

namespace glovebox::http {
namespace {

Route at(Method method, std::string pattern) {
  Route route;
  route.method = method;
  route.pattern = std::move(pattern);
  return route;
}

Router table() {
  return Router({at(Method::kGet, "/v1/runs"), at(Method::kPost, "/v1/runs"),
                 at(Method::kGet, "/v1/runs/{id}"), at(Method::kDelete, "/v1/runs/{id}"),
                 at(Method::kGet, "/v1/runs/latest"), at(Method::kGet, "/v1/files/{id}/{path*}")});
}

TEST(Router, FindsByMethodAndPathAndDecodesParameters) {
  const Router router = table();
  const Router::Match match = router.find(Method::kDelete, "/v1/runs/a%2Fb");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->pattern, "/v1/runs/{id}");
  EXPECT_EQ(match.params.get("id"), "a/b");
}

TEST(Router, ALiteralWinsOverAParameter) {
  EXPECT_EQ(table().find(Method::kGet, "/v1/runs/latest").route->pattern, "/v1/runs/latest");
}

TEST(Router, TheRestTakesSeveralSegments) {
  const Router router = table();
  const Router::Match match = router.find(Method::kGet, "/v1/files/x/a/b%20c");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.params.get("path"), "a/b c");
}

TEST(Router, HeadFindsGet) { EXPECT_NE(table().find(Method::kHead, "/v1/runs").route, nullptr); }

TEST(Router, TellsAMissingPathFromAWrongMethod) {
  const Router router = table();
  EXPECT_TRUE(router.find(Method::kGet, "/v1/nothing").allowed.empty());
  EXPECT_TRUE(router.find(Method::kGet, "/v1/runs/").allowed.empty());
  EXPECT_TRUE(router.find(Method::kGet, "*").allowed.empty());
  const Router::Match match = router.find(Method::kPut, "/v1/runs");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(allow_header(match.allowed), "GET, HEAD, POST");
}

}  // namespace
}  // namespace glovebox::http
