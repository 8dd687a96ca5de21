#include "dialects/e2b/envd/request_user.h"

#include <gtest/gtest.h>

namespace glovebox::e2b {
namespace {

TEST(RequestUser, IsTheNameInBasicCredentials) {
  http::Request request;
  EXPECT_EQ(user_of(request), "");
  request.headers.set("Authorization", "Basic cm9vdDo=");
  EXPECT_EQ(user_of(request), "root");
  request.headers.set("Authorization", "basic cm9vdDpzZWNyZXQ=");
  EXPECT_EQ(user_of(request), "root");
  for (const char* none : {"Bearer cm9vdDo=", "Basic", "Basic ", "Basic ***"}) {
    request.headers.set("Authorization", none);
    EXPECT_EQ(user_of(request), "") << none;
  }
}

}  // namespace
}  // namespace glovebox::e2b
