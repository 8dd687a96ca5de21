// /v1/images: which keys can see and change which images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "images/image_record.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ImageRoutesTest : public ::testing::Test {
 protected:
  ImageRoutesTest() {
    mine_ = test_.make_key("mine", store::KeyRole::kUser);
    keep(kMine, {.project = "mine", .names = {"x:1"}});
    keep(kTheirs, {.project = "theirs", .names = {"x:1", "y:1"}});
    keep(kPublic, {.project = "ops", .names = {"base:1"}, .is_public = true});
  }
  void keep(const std::string& id, const images::ImageRecord& record) {
    LayerRecord layer;
    layer.id = id;
    layer.note = *images::image_note(record);
    test_.layers.all[id] = layer;
  }
  Answer send(Method method, const std::string& path, const std::string& key,
              const std::string& body = {}) {
    return test_.send(method, "/v1/images" + path, key, body);
  }
  std::vector<std::string> ids(const std::string& key, const std::string& query = {}) {
    std::vector<std::string> found;
    const Answer answer = send(Method::kGet, query, key);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const json::value body = json::parse(answer.body);
    for (const json::value& one : body.at("images").as_array()) {
      found.emplace_back(one.at("id").as_string());
    }
    return found;
  }

  const std::string kMine = std::string(32, '1');
  const std::string kTheirs = std::string(32, '2');
  const std::string kPublic = std::string(32, '3');
  TestServer test_;
  std::string mine_;
};

TEST_F(ImageRoutesTest, AProjectSeesItsOwnImagesAndPublicOnes) {
  EXPECT_THAT(ids(mine_), ElementsAre(kMine, kPublic));
  EXPECT_THAT(ids(test_.admin_key), ElementsAre(kMine, kTheirs, kPublic));
  EXPECT_THAT(ids(test_.admin_key, "?project=theirs"), ElementsAre(kTheirs, kPublic));
  EXPECT_EQ(send(Method::kGet, "?project=theirs", mine_).status, 403);
  EXPECT_EQ(send(Method::kGet, "/" + kTheirs, mine_).status, 404);
  EXPECT_EQ(json::parse(send(Method::kGet, "/x:1", mine_).body).at("id"), json::value(kMine));
  EXPECT_THAT(send(Method::kGet, "/" + kMine, mine_).body, HasSubstr("\"project\":\"mine\""));
  EXPECT_THAT(send(Method::kGet, "/base:1", mine_).body, Not(HasSubstr("ops")));
  test_.layers.in_use.insert(kPublic);
  EXPECT_THAT(send(Method::kGet, "/base:1", mine_).body, HasSubstr("\"in_use\":false"));
  EXPECT_THAT(send(Method::kGet, "/base:1", test_.admin_key).body, HasSubstr("\"in_use\":true"));
}

TEST_F(ImageRoutesTest, ALongListIsAsWhole) {
  for (int i = 10; i < 40; ++i) {
    keep(std::string(30, 'f') + std::to_string(i), {.project = "mine", .names = {}});
  }
  EXPECT_EQ(ids(mine_).size(), 32u);
  EXPECT_EQ(ids(test_.admin_key).size(), 33u);
}

TEST_F(ImageRoutesTest, OnlyAnAdministratorPublishes) {
  EXPECT_EQ(send(Method::kPatch, "/x:1", mine_, R"({"public":true})").status, 403);
  EXPECT_EQ(send(Method::kPatch, "/x:1", mine_, R"({"pinned":true})").status, 200);
  EXPECT_TRUE(images::parse_image_note(test_.layers.all[kMine].note)->is_pinned);
  EXPECT_EQ(send(Method::kPatch, "/" + kTheirs, test_.admin_key, R"({"public":true})").status, 200);
  EXPECT_THAT(ids(mine_), ElementsAre(kMine, kTheirs, kPublic));
}

TEST_F(ImageRoutesTest, AnAdministratorSaysWhichOfSeveralImagesOfAName) {
  const Answer unclear = send(Method::kPatch, "/x:1", test_.admin_key, R"({"public":true})");
  EXPECT_EQ(unclear.status, 404);
  EXPECT_THAT(unclear.body, HasSubstr("several images"));
  EXPECT_EQ(send(Method::kDelete, "/x:1", test_.admin_key).status, 404);
  EXPECT_THAT(test_.layers.dropped, ElementsAre());
  EXPECT_EQ(
      send(Method::kPatch, "/x:1?project=theirs", test_.admin_key, R"({"public":true})").status,
      200);
  EXPECT_TRUE(images::parse_image_note(test_.layers.all[kTheirs].note)->is_public);
  // Now all know that one as x:1.
  EXPECT_EQ(send(Method::kPatch, "/" + kMine, test_.admin_key, R"({"public":true})").status, 422);
  EXPECT_FALSE(images::parse_image_note(test_.layers.all[kMine].note)->is_public);
}

TEST_F(ImageRoutesTest, AProjectRemovesOnlyItsOwn) {
  EXPECT_EQ(send(Method::kDelete, "/" + kPublic, mine_).status, 403);
  EXPECT_EQ(send(Method::kDelete, "/" + kTheirs, mine_).status, 404);
  test_.layers.in_use.insert(kMine);
  EXPECT_EQ(code_of(send(Method::kDelete, "/" + kMine, mine_)), "image_in_use");
  test_.layers.in_use.clear();
  EXPECT_EQ(send(Method::kPost, "/prune", mine_, "{}").status, 200);
  EXPECT_THAT(test_.layers.dropped, ElementsAre(kMine));
}

TEST_F(ImageRoutesTest, APullIsOnlyFromListedRegistries) {
  const Answer pull = send(Method::kPost, "/pull", mine_, R"({"name":"registry.example/x"})");
  EXPECT_EQ(pull.status, 403);
  EXPECT_EQ(code_of(pull), "policy");
  EXPECT_THAT(pull.body, HasSubstr("registry.example"));
  EXPECT_THAT(pull.body, HasSubstr("images.registries"));
}

TEST_F(ImageRoutesTest, AMalformedPullIsRefused) {
  for (const char* body :
       {"", "{}", R"({"name":"A"})", R"({"name":"x","more":1})",
        R"({"name":"x","credentials":{"user":"me"}})", R"({"name":"x","credentials":"me"})",
        R"({"name":"x","credentials":{"registry_token":"a\r\nb"}})"}) {
    EXPECT_EQ(send(Method::kPost, "/pull", mine_, body).status, 400) << body;
  }
}

TEST_F(ImageRoutesTest, AnImageThatIsNotThereIsRefusedBeforeARun) {
  const Answer run =
      test_.send(Method::kPost, "/v1/run", mine_, R"({"command":"x","profile":{"image":"y:1"}})");
  EXPECT_EQ(run.status, 404);
  EXPECT_EQ(code_of(run), "image_not_found");
}

}  // namespace
}  // namespace glovebox::api
