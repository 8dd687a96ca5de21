// Names of sandboxes through the routes: unique among the living ones of a project, and found by
// the list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

sessions::SessionOptions with_room() {
  sessions::SessionOptions options;
  options.available_memory = [] { return std::optional<std::uint64_t>(1ull << 40); };
  return options;
}

class SandboxNames : public ::testing::Test {
 protected:
  SandboxNames() : test_({}, with_room()) {
    key_ = test_.make_key("default", store::KeyRole::kUser);
    test_.session_service.make = [this](const node::SessionSpec& spec) {
      return Result<std::shared_ptr<node::Session>>(
          std::make_shared<sessions::FakeIdleSession>(test_.io, spec.template_name));
    };
  }
  Answer post(const std::string& body, const std::string& key) {
    return test_.send(Method::kPost, "/v1/sandboxes", key, body);
  }
  std::string make(const std::string& body) {
    const Answer answer = post(body, key_);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return std::string(json::parse(answer.body).at("id").as_string());
  }
  std::vector<std::string> matching(const std::string& word) {
    const Answer answer = test_.send(Method::kGet, "/v1/sandboxes?match=" + word, key_);
    std::vector<std::string> ids;
    const json::value body = json::parse(answer.body);
    for (const json::value& one : body.at("sandboxes").as_array()) {
      ids.emplace_back(one.at("id").as_string());
    }
    return ids;
  }

  TestServer test_;
  std::string key_;
};

TEST_F(SandboxNames, AreUniqueAmongTheLivingOfAProject) {
  const std::string id = make(R"({"name":"dev"})");
  const Answer taken = post(R"({"name":"dev"})", key_);
  EXPECT_EQ(taken.status, 409);
  EXPECT_THAT(taken.body, HasSubstr("\"name_taken\""));
  EXPECT_THAT(taken.body, HasSubstr(id));
  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  EXPECT_EQ(post(R"({"name":"dev"})", other).status, 201);
  EXPECT_EQ(test_.send(Method::kDelete, "/v1/sandboxes/" + id, key_).status, 204);
  EXPECT_NE(make(R"({"name":"dev"})"), id);
}

TEST_F(SandboxNames, DoNotLookLikeIds) {
  for (const char* name : {"sb00", "sbom", "sbaaaaaaaaaaaaaaaaaaaa"}) {
    const Answer refused = post(std::string(R"({"name":")") + name + "\"}", key_);
    EXPECT_EQ(refused.status, 400) << name;
    EXPECT_THAT(refused.body, HasSubstr("must not look like the id"));
  }
  for (const char* name : {"sb", "sb-1", "sbA0", "sbaaaaaaaaaaaaaaaaaaaaa"}) {
    EXPECT_EQ(post(std::string(R"({"name":")") + name + "\"}", key_).status, 201) << name;
  }
}

TEST_F(SandboxNames, AreFoundLikeTheBeginningOfAnId) {
  const std::string named = make(R"({"name":"dev"})");
  const std::string id = make("{}");
  EXPECT_THAT(matching("dev"), ElementsAre(named));
  EXPECT_THAT(matching(id.substr(0, 10)), ElementsAre(id));
  EXPECT_THAT(matching(id), ElementsAre(id));
  EXPECT_THAT(matching("sb"), IsEmpty());  // too short
  EXPECT_THAT(matching("de"), IsEmpty());
  EXPECT_THAT(matching("sb%25%25"), IsEmpty());  // no pattern of SQL
}

}  // namespace
}  // namespace glovebox::api
