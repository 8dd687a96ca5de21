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

TEST(Router, AParameterAndTheRestHaveNames) {
  const Router router({at(Method::kGet, "/a/{x}"), at(Method::kGet, "/b/{y*}")});
  EXPECT_EQ(router.find(Method::kGet, "/a/1").params.get("x"), "1");
  EXPECT_EQ(router.find(Method::kGet, "/b/1/2").params.get("y"), "1/2");
  EXPECT_EQ(router.find(Method::kGet, "/a/1/2").route, nullptr);
}

TEST(Router, ALongerPatternIsMoreSpecific) {
  const Router router({at(Method::kGet, "/{all*}"), at(Method::kGet, "/a/{all*}"),
                       at(Method::kGet, "/a/{x}"), at(Method::kGet, "/a")});
  const auto pattern = [&](std::string_view path) {
    return router.find(Method::kGet, path).route->pattern;
  };
  EXPECT_EQ(pattern("/a"), "/a");
  EXPECT_EQ(pattern("/a/b"), "/a/{x}");
  EXPECT_EQ(pattern("/a/b/c"), "/a/{all*}");
  EXPECT_EQ(pattern("/b/c"), "/{all*}");
}

TEST(Route, IsAdmittedAndBoundedUnlessItSaysOtherwise) {
  const Route route;
  EXPECT_FALSE(route.streams_body);
  EXPECT_FALSE(route.admits_itself);
  EXPECT_FALSE(route.is_always_served);
  EXPECT_FALSE(Request{}.tls);
  EXPECT_FALSE(Response{}.is_streamed);
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
