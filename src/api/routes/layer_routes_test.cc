// /v1/layers: which keys can see and change which layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "packages/layer_request.h"
#include "packages/testing/fake_package_service.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LayerRoutesTest : public ::testing::Test {
 protected:
  LayerRoutesTest() {
    mine_ = test_.make_key("mine", store::KeyRole::kUser);
    packages_.layers = {packages::layer_of(kFirst, {"mine", "other"}),
                        packages::layer_of(kSecond, {"other"})};
    packages_.made_layer = kFirst;
  }
  Answer send(Method method, const std::string& path, const std::string& key,
              const std::string& body = {}, http::Headers headers = {}) {
    return test_.send(method, "/v1/layers" + path, key, body, std::move(headers));
  }
  std::vector<std::string> ids(const std::string& key, const std::string& query = {}) {
    std::vector<std::string> found;
    const Answer answer = send(Method::kGet, query, key);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const json::value body = json::parse(answer.body);
    for (const json::value& one : body.at("layers").as_array()) {
      found.emplace_back(one.at("id").as_string());
    }
    return found;
  }

  const std::string kFirst = std::string(31, '1') + "a";
  const std::string kSecond = std::string(31, '2') + "b";
  TestServer test_;
  packages::FakePackageService& packages_ = test_.packages;
  std::string mine_;
};

TEST_F(LayerRoutesTest, AProjectSeesOnlyItsOwnLayers) {
  EXPECT_THAT(ids(mine_), ElementsAre(kFirst));
  EXPECT_THAT(ids(test_.admin_key), ElementsAre(kFirst, kSecond));
  EXPECT_THAT(ids(test_.admin_key, "?project=mine"), ElementsAre(kFirst));
  EXPECT_THAT(ids(test_.admin_key, "?project=default"), IsEmpty());
  EXPECT_EQ(send(Method::kGet, "?project=other", mine_).status, 403);
  EXPECT_EQ(send(Method::kGet, "/" + kSecond, mine_).status, 404);
  const Answer shown = send(Method::kGet, "/" + kFirst.substr(0, 10), mine_);
  ASSERT_EQ(shown.status, 200);
  EXPECT_THAT(shown.body, Not(HasSubstr("other"))) << "other projects of the layer are not shown";
  const json::value layer = json::parse(shown.body);
  EXPECT_EQ(layer.at("id"), json::value(kFirst));
  EXPECT_EQ(layer.at("bytes"), 1000);
  EXPECT_EQ(layer.at("packages").at(0).at("version"), "1.0");
  EXPECT_EQ(layer.at("projects"), json::array({"mine"}));
  EXPECT_EQ(layer.at("made_at"), "2023-11-14T22:13:20.000Z");
  EXPECT_TRUE(layer.at("checked_at").is_null());
  EXPECT_THAT(send(Method::kGet, "/" + kFirst, test_.admin_key).body, HasSubstr("other"));
}

TEST_F(LayerRoutesTest, OnlyAnAdministratorRemovesLayers) {
  for (const auto& [method, path] :
       {std::pair(Method::kDelete, "/" + kFirst), std::pair(Method::kPost, std::string("/prune")),
        std::pair(Method::kPost, "/" + kFirst + "/check")}) {
    EXPECT_EQ(send(method, path, mine_).status, 403) << path;
  }
  EXPECT_EQ(send(Method::kDelete, "/" + std::string(32, '9'), test_.admin_key).status, 404);
  EXPECT_EQ(send(Method::kDelete, "/" + kSecond.substr(0, 8), test_.admin_key).status, 204);
  EXPECT_THAT(ids(test_.admin_key), ElementsAre(kFirst));
  packages_.layers[0].record.in_use = true;
  const Answer in_use = send(Method::kDelete, "/" + kFirst, test_.admin_key);
  EXPECT_EQ(in_use.status, 409);
  EXPECT_EQ(code_of(in_use), "layer_in_use");
}

TEST_F(LayerRoutesTest, Prunes) {
  packages_.layers[0].record.in_use = true;
  const Answer answer =
      send(Method::kPost, "/prune", test_.admin_key, R"({"unused_for_s":604800,"dry_run":true})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body),
            (json::object{{"removed", {kSecond}}, {"bytes", 1000}, {"dry_run", true}}));
  ASSERT_EQ(packages_.prunes.size(), 1u);
  EXPECT_EQ(packages_.prunes[0].unused_for, std::chrono::seconds(604800));
  EXPECT_TRUE(packages_.prunes[0].dry_run);
  EXPECT_EQ(send(Method::kPost, "/prune", test_.admin_key).status, 200);
  EXPECT_EQ(packages_.prunes[1].unused_for.count(), 0);
  EXPECT_EQ(send(Method::kPost, "/prune", test_.admin_key, R"({"unused":1})").status, 400);
}

TEST_F(LayerRoutesTest, Checks) {
  packages_.checked = {.intact = false, .expected = "one", .found = "two"};
  const Answer answer = send(Method::kPost, "/" + kFirst.substr(0, 8) + "/check", test_.admin_key);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(
      json::parse(answer.body),
      (json::object{{"id", kFirst}, {"intact", false}, {"expected", "one"}, {"found", "two"}}));
  EXPECT_EQ(send(Method::kPost, "/00000000/check", test_.admin_key).status, 404);
}

TEST_F(LayerRoutesTest, BuildsAhead) {
  const Answer answer = send(Method::kPost, "", mine_, R"({"dependencies":["good"]})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json::value layer = json::parse(answer.body);
  EXPECT_EQ(layer.at("id"), json::value(kFirst));
  EXPECT_EQ(layer.at("built"), false);
  EXPECT_EQ(layer.at("projects"), json::array({"mine"}));
  ASSERT_EQ(packages_.requests.size(), 1u);
  EXPECT_EQ(packages_.requests[0].project, "mine");
  EXPECT_EQ(packages_.requests[0].definition.from, "python");
  const Answer live = send(Method::kPost, "", mine_, R"({"language":"javascript",
      "dependencies":{"packages":["good@1"]}})",
                           {{"Accept", "text/event-stream"}});
  EXPECT_TRUE(live.streamed);
  EXPECT_THAT(live.body, HasSubstr("event: layer\ndata: {\"id\":\"" + kFirst));
  EXPECT_EQ(packages_.requests[1].definition.from, "node");
}

TEST_F(LayerRoutesTest, AFailedBuildReportsItsCause) {
  const packages::BuildProgress word{packages::BuildPhase::kResolving, ""};
  packages_.play = packages::fails_after({word}, Error(Errc::kInvalidArgument, "its own words"));
  const Answer whole = send(Method::kPost, "", mine_, R"({"dependencies":["good"]})");
  EXPECT_EQ(whole.status, 422);
  EXPECT_EQ(code_of(whole), "dependencies_failed");
  EXPECT_THAT(whole.body, HasSubstr("its own words"));
  const Answer live = send(Method::kPost, "", mine_, R"({"dependencies":["good"]})",
                           {{"Accept", "application/x-ndjson"}});
  EXPECT_TRUE(live.streamed);
  EXPECT_THAT(live.body, HasSubstr(R"("event":"error","code":"dependencies_failed")"));
  EXPECT_THAT(live.body, HasSubstr(R"("status":422)"));
}

TEST_F(LayerRoutesTest, BadRequestsNameTheField) {
  const auto refusal = [&](const char* body) {
    const Answer answer = send(Method::kPost, "", mine_, body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.body;
  };
  EXPECT_THAT(refusal("{}"), HasSubstr("dependencies: must name at least one package"));
  EXPECT_THAT(refusal(R"({"dependencies":[]})"),
              HasSubstr("dependencies: must name at least one package"));
  EXPECT_THAT(refusal(R"({"dependencies":["a","./b"]})"), HasSubstr("dependencies[1]: "));
  EXPECT_THAT(refusal(R"({"dependencies":["a"],"language":"cobol"})"), HasSubstr("language: "));
  EXPECT_THAT(refusal(R"({"dependencies":["a"],"template":"Base"})"), HasSubstr("template: "));
  EXPECT_THAT(refusal(R"({"dependencies":["a"],"template":"base"})"), HasSubstr("neither Python"));
  EXPECT_THAT(refusal(R"({"dependencies":["a"],"template":"python","language":"python"})"),
              HasSubstr("language: cannot be combined"));
  EXPECT_EQ(send(Method::kPost, "", mine_, R"({"dependencies":["a"],"template":"none"})").status,
            404);
}

TEST_F(LayerRoutesTest, AKeysLimitCountsBuilds) {
  const std::string key =
      test_.make_key("mine", store::KeyRole::kUser, store::KeyLimits{.runs_per_minute = 1});
  EXPECT_EQ(send(Method::kPost, "", key, R"({"dependencies":["good"]})").status, 200);
  EXPECT_EQ(send(Method::kPost, "", key, R"({"dependencies":["good"]})").status, 429);
}

}  // namespace
}  // namespace glovebox::api
