#include "dialects/e2b/error_form.h"

#include <gtest/gtest.h>

namespace glovebox::e2b {
namespace {

TEST(ErrorForm, HasTheStatusAsItsCodeAndKeepsHeaders) {
  http::Response refused = http::Response::refuse(429, "key_limit", "too many");
  refused.headers.set("Retry-After", "7");
  const http::Response formed = error_form(refused, nullptr);
  EXPECT_EQ(formed.status, 429);
  EXPECT_EQ(formed.body, R"({"code":429,"message":"too many"})");
  EXPECT_EQ(formed.headers.get("Retry-After"), "7");
  EXPECT_FALSE(formed.problem.has_value());
}

TEST(ErrorForm, ShowsTheErrorOfTheHandler) {
  const Error error(Errc::kNotFound, "template 'x' was not found");
  const http::Response formed = error_form(http::Response::from_error(error), &error);
  EXPECT_EQ(formed.status, 404);
  EXPECT_EQ(formed.body, R"({"code":404,"message":"template 'x' was not found"})");
}

}  // namespace
}  // namespace glovebox::e2b
