// Who is admitted, by which key, and for which project.
#include "routing/authenticator.h"

#include <gtest/gtest.h>

#include "api/testing/test_server.h"

namespace glovebox::routing {
namespace {

class AuthenticatorTest : public ::testing::Test {
 protected:
  http::Request with(const char* header, const std::string& value) {
    http::Request request;
    request.host = "localhost:7070";
    if (header != nullptr) request.headers.add(header, value);
    return request;
  }
  http::Request with_key(const std::string& key) { return with("X-API-Key", key); }
  // The status of the refusal; 0: it is admitted.
  int refused(const http::Request& request, Access access, bool is_loopback = true) {
    const Authenticator authenticator(*server_.store, server_.api->browsers, KeyForms({"e2b_"}),
                                      is_loopback);
    const auto response = authenticator.refuse(request, access);
    return response ? response->status : 0;
  }

  api::TestServer server_;
  const std::string user_ = server_.make_key("one", store::KeyRole::kUser);
  const std::string admin_ = server_.admin_key;
};

TEST_F(AuthenticatorTest, AKeyComesInOneOfFourWays) {
  const auto is_known = [&](const http::Request& request) {
    return refused(request, Access::kKey) == 0;
  };
  EXPECT_TRUE(is_known(with("X-API-Key", user_)));
  EXPECT_TRUE(is_known(with("x-api-key", "e2b_" + user_.substr(4))));
  EXPECT_TRUE(is_known(with("Authorization", "Bearer " + user_)));
  EXPECT_TRUE(is_known(with("Authorization", "bearer   " + user_)));
  http::Request socket = with("Sec-WebSocket-Protocol", "chat , glovebox.key." + user_ + "\t, v1");
  EXPECT_FALSE(is_known(socket)) << "only of a request for a WebSocket";
  socket.headers.add("Upgrade", "websocket");
  EXPECT_TRUE(is_known(socket));
  for (const std::string& value : {std::string("Bearer"), std::string("Bearer "), user_,
                                   "Basic " + user_, "Bearer" + user_, "Bearer x" + user_}) {
    EXPECT_FALSE(is_known(with("Authorization", value))) << value;
  }
  // X-API-Key counts, whatever else there is.
  http::Request both = with("X-API-Key", "gbx_wrong");
  both.headers.add("Authorization", "Bearer " + user_);
  EXPECT_FALSE(is_known(both));
}

TEST_F(AuthenticatorTest, ARefusalSaysWhetherAKeyWasThere) {
  const Authenticator authenticator(*server_.store, server_.api->browsers, KeyForms({}), true);
  const auto none = authenticator.refuse(with(nullptr, ""), Access::kKey);
  const auto wrong = authenticator.refuse(with_key("gbx_wrong"), Access::kKey);
  ASSERT_TRUE(none && wrong);
  EXPECT_EQ(none->status, 401);
  EXPECT_NE(none->problem->message.find("is required"), std::string::npos);
  EXPECT_NE(wrong->problem->message.find("is not valid"), std::string::npos);
  EXPECT_NE(none->headers.get("WWW-Authenticate"), "");
}

TEST_F(AuthenticatorTest, EachAccessAsksForItsKey) {
  const http::Request anonymous = with(nullptr, "");
  EXPECT_EQ(refused(anonymous, Access::kOpen), 0);
  EXPECT_EQ(refused(anonymous, Access::kKey), 401);
  EXPECT_EQ(refused(anonymous, Access::kAdmin), 401);
  EXPECT_EQ(refused(with_key(user_), Access::kKey), 0);
  EXPECT_EQ(refused(with_key(user_), Access::kAdmin), 403);
  EXPECT_EQ(refused(with_key(admin_), Access::kAdmin), 0);
}

TEST_F(AuthenticatorTest, AnOperatorNeedsNoKeyOnThisHostItself) {
  const http::Request local = with(nullptr, "");
  EXPECT_EQ(refused(local, Access::kOperator), 0);
  EXPECT_EQ(refused(local, Access::kOperator, false), 401) << "the server listens elsewhere, too";
  for (const char* added : {"X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host",
                            "X-Forwarded-Proto"}) {
    EXPECT_EQ(refused(with(added, "x"), Access::kOperator), 401) << added;
  }
  http::Request elsewhere = local;
  elsewhere.host = "example.com";
  EXPECT_EQ(refused(elsewhere, Access::kOperator), 401);
  EXPECT_EQ(refused(with_key(user_), Access::kOperator, false), 0);
}

TEST_F(AuthenticatorTest, OnlyAnAdminReachesOtherProjects) {
  const Authenticator authenticator(*server_.store, server_.api->browsers, KeyForms({}), true);
  const auto project = [&](const std::string& key, const char* asked) {
    http::Request request = with_key(key);
    if (asked != nullptr) request.query.add("project", asked);
    const auto caller = authenticator.caller_of(request);
    return caller ? caller->project : caller.error().message();
  };
  EXPECT_EQ(project(user_, nullptr), "one");
  EXPECT_EQ(project(user_, "one"), "one");
  EXPECT_NE(project(user_, "two").find("only an admin key"), std::string::npos);
  EXPECT_NE(project(user_, "*").find("only an admin key"), std::string::npos);
  EXPECT_EQ(project(admin_, nullptr), "default");
  EXPECT_EQ(project(admin_, "one"), "one");
  EXPECT_EQ(project(admin_, "*"), "*");
  EXPECT_NE(project("gbx_wrong", nullptr).find("no longer valid"), std::string::npos);
  http::Request all = with_key(admin_);
  all.query.add("project", "*");
  EXPECT_EQ(authenticator.caller_of_one_project(all).error().code(), Errc::kInvalidArgument);
  EXPECT_TRUE(authenticator.caller_of_one_project(with_key(admin_)));
}

}  // namespace
}  // namespace glovebox::routing
