// What the store keeps of sandboxes, through the routes: nothing secret of those that have ended,
// and no more than a project's quota of those that live.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

sessions::SessionOptions with_memory() {
  sessions::SessionOptions options;
  options.available_memory = [] { return std::optional<std::uint64_t>(1ull << 40); };
  return options;
}

class SandboxRecords : public ::testing::Test {
 protected:
  explicit SandboxRecords(store::Retention retention = {})
      : test_({}, with_memory(), {}, retention) {
    key_ = test_.make_key("default", store::KeyRole::kUser);
    test_.session_service.make = [this](const node::SessionSpec& spec) {
      return Result<std::shared_ptr<node::Session>>(
          std::make_shared<sessions::FakeIdleSession>(test_.io, spec.template_name));
    };
  }
  Answer send(Method method, const std::string& path, const std::string& body = {}) {
    return test_.send(method, "/v1/sandboxes" + path, key_, body);
  }
  std::string make(const std::string& body) {
    const Answer answer = send(Method::kPost, "", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return "/" + std::string(json::parse(answer.body).at("id").as_string());
  }
  json::object metadata_of(const std::string& path) {
    return json::parse(send(Method::kGet, path).body).at("metadata").as_object();
  }
  // With one short pair and so many long ones.
  static std::string metadata(const std::string& value, int count) {
    std::string pairs = "\"user\":\"" + value + "\"";
    for (int i = 0; i < count; ++i) {
      pairs += ",\"k" + std::to_string(i) + "\":\"" + std::string(4000, 'm') + "\"";
    }
    return "\"metadata\":{" + pairs + "}";
  }

  TestServer test_;
  std::string key_;
};

TEST_F(SandboxRecords, AChangeIsStored) {
  const std::string path = make(R"({"metadata":{"a":"1"}})");
  const Answer changed =
      send(Method::kPatch, path, R"({"ttl_s":50,"on_timeout":"pause","metadata":{"b":"2"}})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  const json::value shown = json::parse(send(Method::kGet, path).body);
  EXPECT_EQ(shown.at("ttl_s"), 50);
  EXPECT_EQ(shown.at("on_timeout"), "pause");
  EXPECT_EQ(metadata_of(path), (json::object{{"b", "2"}}));
  const json::value found = json::parse(send(Method::kGet, "?metadata.b=2").body);
  EXPECT_EQ(found.at("sandboxes").as_array().size(), 1u);
  EXPECT_EQ(send(Method::kPatch, path, "{}").status, 400);
}

TEST_F(SandboxRecords, WhatIsNotCountedIsNullInTheMetrics) {
  const std::string path = make("{}");
  const json::value metrics = json::parse(send(Method::kGet, path + "/metrics").body);
  for (const char* name : {"cpu_us", "memory_bytes", "processes", "socket_bytes", "oom_kills"}) {
    EXPECT_TRUE(metrics.at("now").at(name).is_null()) << name;
  }
}

TEST_F(SandboxRecords, AnEndedSandboxHasNoEnvironmentAndLittleMetadata) {
  const std::string path = make(R"({"env":{"SECRET":"text"},)" + metadata("ada", 20) + "}");
  const SandboxId id = SandboxId::parse(path.substr(1)).value();
  sessions::SessionRegistry& registry = test_.session_services->registry;
  EXPECT_THAT(registry.environment(id), Contains("SECRET=text"));
  EXPECT_EQ(metadata_of(path).size(), 21u);
  EXPECT_EQ(send(Method::kDelete, path).status, 204);
  EXPECT_THAT(registry.environment(id), Not(Contains("SECRET=text")));
  EXPECT_EQ(metadata_of(path).size(), 2u);
  EXPECT_EQ(metadata_of(path).at("user").as_string(), "ada");
}

TEST_F(SandboxRecords, AnotherProjectsVolumeDoesNotRemoveTheLogOfAnEndedSandbox) {
  const std::string path = make("{}");
  EXPECT_EQ(send(Method::kDelete, path).status, 204);
  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  for (int i = 0; i < 600; ++i) {
    const Answer made = test_.send(Method::kPost, "/v1/sandboxes", other, "{}");
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string id(json::parse(made.body).at("id").as_string());
    ASSERT_EQ(test_.send(Method::kDelete, "/v1/sandboxes/" + id, other, "").status, 204);
  }
  const Answer log = send(Method::kGet, path + "/logs");
  EXPECT_EQ(log.status, 200);
  EXPECT_FALSE(json::parse(log.body).at("entries").as_array().empty()) << log.body;
}

TEST_F(SandboxRecords, ASandboxThatIsBeingMadeCountsForItsProjectsShare) {
  std::vector<std::uint64_t> while_making;
  test_.session_service.make = [&](const node::SessionSpec& spec) {
    while_making.push_back(test_.session_services->registry.alive_of("default"));
    return Result<std::shared_ptr<node::Session>>(
        std::make_shared<sessions::FakeIdleSession>(test_.io, spec.template_name));
  };
  make("{}");
  make("{}");
  EXPECT_THAT(while_making, ElementsAre(1, 2));
  EXPECT_EQ(test_.session_services->registry.alive_of("default"), 2u);
}

class SmallQuota : public SandboxRecords {
 protected:
  SmallQuota() : SandboxRecords({.max_project_bytes = 20'000}) {}
};

TEST_F(SmallQuota, ANetworkPolicyThatDoesNotFitIsRefusedAndTheOldOneIsInForce) {
  const std::string path = make(R"({"profile":{"net":{"allow":["kept.example.com"]}}})");
  std::string rules;
  for (int i = 0; i < 200; ++i) {
    rules += (i == 0 ? "\"" : ",\"") + std::string(60, 'a') + "." + std::string(60, 'b') +
             std::to_string(i) + ".example.com\"";
  }
  const Answer refused = send(Method::kPatch, path, R"({"net":{"allow":[)" + rules + "]}}");
  EXPECT_EQ(refused.status, 507) << refused.body;
  EXPECT_EQ(code_of(refused), "disk_full");
  const json::value net = json::parse(send(Method::kGet, path).body).at("net");
  EXPECT_EQ(json::serialize(net.at("allow")), R"(["kept.example.com"])");
  const SandboxId id = SandboxId::parse(path.substr(1)).value();
  EXPECT_EQ(test_.networks.set.at(id).policy.allow.size(), 1u);
  EXPECT_EQ(send(Method::kPatch, path, R"({"net":{"allow":["new.example.com"]}})").status, 200);
}

TEST_F(SmallQuota, WhatDoesNotFitIsRefusedAndTheRestStays) {
  const std::string path = make("{" + metadata("ada", 0) + "}");
  const Answer refused = send(Method::kPatch, path, "{" + metadata("bob", 10) + "}");
  EXPECT_EQ(refused.status, 507) << refused.body;
  EXPECT_EQ(code_of(refused), "disk_full");
  EXPECT_EQ(metadata_of(path), (json::object{{"user", "ada"}}));
  EXPECT_EQ(send(Method::kPatch, path, "{" + metadata("bob", 2) + "}").status, 200);
  EXPECT_EQ(metadata_of(path).size(), 3u);

  const Answer more = send(Method::kPost, "", "{" + metadata("eve", 4) + "}");
  EXPECT_EQ(more.status, 507) << more.body;
  EXPECT_THAT(more.body, HasSubstr("store.project_quota"));
  EXPECT_EQ(test_.session_services->registry.figures().running, 1u);  // it has no sandbox either
  EXPECT_EQ(send(Method::kDelete, path).status, 204);
  make("{" + metadata("eve", 4) + "}");
}

}  // namespace
}  // namespace glovebox::api
