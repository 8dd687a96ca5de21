// /api/v1 through the whole API, with the real session services and the real store, over fake
// sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "sessions/testing/fake_session.h"

namespace glovebox::sessions_api {
namespace {

namespace json = boost::json;
using http::Method;

class SessionsApiRoutes : public ::testing::Test {
 protected:
  void SetUp() override {
    key_ = test_.make_key("default", store::KeyRole::kUser);
    test_.session_service.make = [this](const node::SessionSpec& spec) {
      auto session = std::make_shared<sessions::FakeSession>(test_.io);
      test_.sessions.add({.project = spec.project, .session = session});
      last_ = session;
      return Result<std::shared_ptr<node::Session>>(session);
    };
  }
  static sessions::SessionOptions roomy() {
    sessions::SessionOptions options;
    options.available_memory = [] { return std::optional<std::uint64_t>(1ull << 40); };
    return options;
  }

  api::Answer send(Method method, const std::string& path, std::string body = {},
                   std::string key = {}) {
    return test_.send(method, "/api/v1/sessions" + path, key.empty() ? key_ : key, std::move(body));
  }
  static json::object object(const api::Answer& answer) {
    EXPECT_LT(answer.status, 300) << answer.body;
    return json::parse(answer.body).as_object();
  }
  std::string make(std::string body) {
    return std::string(object(send(Method::kPost, "", std::move(body))).at("id").as_string());
  }
  // Every cell returns this JSON text as its value.
  void return_value(std::string text) {
    last_->on_cell = [text](sessions::FakeProcess& process, const wire::Cell& cell) {
      process.print("log");
      const json::object mime{{"application/json", text}};
      const json::object line{{"type", "result"}, {"main", true}, {"mime", mime}};
      process.say(json::serialize(line));
      process.end_cell(cell.number);
    };
  }
  json::object result(const std::string& id) {
    api::Answer answer;
    test_.run_until([&] {
      answer = send(Method::kGet, "/" + id + "/result");
      return answer.status != 202;
    });
    return object(answer);
  }

  api::TestServer test_{{}, roomy()};
  std::string key_;
  std::shared_ptr<sessions::FakeSession> last_;
};

constexpr const char* kHandler = R"({"code":"def handler(e, c): pass"})";

TEST_F(SessionsApiRoutes, AnEphemeralSessionHasEndedWhenItsResultIsReady) {
  const std::string id = make("{}");
  return_value(R"({"a":[1,null]})");
  ASSERT_EQ(send(Method::kPost, "/" + id + "/execute", kHandler).status, 202);
  // A second one is refused, also while the first one runs.
  EXPECT_EQ(send(Method::kPost, "/" + id + "/execute", kHandler).status, 409);
  const json::object done = result(id);
  EXPECT_EQ(done.at("status"), "completed");
  EXPECT_EQ(done.at("result"), json::parse(R"({"a":[1,null]})"));
  EXPECT_EQ(done.at("stdout"), "log");
  EXPECT_EQ(test_.session_service.destroyed.size(), 1u);
  EXPECT_EQ(object(send(Method::kGet, "/" + id)).at("status"), "stopped");
  EXPECT_EQ(send(Method::kDelete, "/" + id).status, 204);
}

TEST_F(SessionsApiRoutes, APersistentSessionIsReusedAndStays) {
  const std::string id = make(R"({"mode":"persistent","agent_id":"a"})");
  return_value("7");
  EXPECT_EQ(make(R"({"mode":"persistent","agent_id":"a"})"), id);
  ASSERT_EQ(send(Method::kPost, "/" + id + "/execute", kHandler).status, 202);
  EXPECT_EQ(result(id).at("result"), 7);
  EXPECT_EQ(object(send(Method::kGet, "/" + id + "/status")).at("status"), "running");
  EXPECT_TRUE(test_.session_service.destroyed.empty());
}

TEST_F(SessionsApiRoutes, AMalformedResultOfTheGuestIsAFailure) {
  const std::string id = make(R"({"mode":"persistent"})");
  for (const std::string& text : {std::string("{"), std::string("[1,]"), std::string(200, '[')}) {
    return_value(text);
    ASSERT_EQ(send(Method::kPost, "/" + id + "/execute", kHandler).status, 202);
    const json::object done = result(id);
    EXPECT_EQ(done.at("status"), "failed") << text;
    EXPECT_EQ(done.at("error").at("code"), "bad_result") << text;
  }
}

TEST_F(SessionsApiRoutes, AResultBelongsToItsProject) {
  const std::string id = make(R"({"mode":"persistent"})");
  return_value("1");
  const json::object begun = object(send(Method::kPost, "/" + id + "/execute", kHandler));
  const std::string execution(begun.at("execution_id").as_string());
  (void)result(id);
  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  EXPECT_EQ(send(Method::kGet, "/" + id + "/result", {}, other).status, 404);
  EXPECT_EQ(send(Method::kGet, "/" + id + "/result?execution_id=" + execution, {}, other).status,
            404);
  EXPECT_EQ(send(Method::kPost, "/" + id + "/execute", kHandler, other).status, 404);
  EXPECT_EQ(send(Method::kGet, "/" + id + "/result?execution_id=" + execution).status, 200);
}

}  // namespace
}  // namespace glovebox::sessions_api
