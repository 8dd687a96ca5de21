// Network policies of sandboxes in the routes: requested, refused beyond the ceiling, changed,
// shown, stored, published.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "sessions/testing/fake_idle_session.h"
#include "wire/json/stored_policy.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::HasSubstr;

net::NetPolicy policy(const std::string& text) { return wire::stored_policy(text); }

ApiSettings with_ceiling(net::NetCeiling ceiling) {
  ApiSettings settings;
  settings.ceiling = std::move(ceiling);
  return settings;
}

net::NetCeiling only_pypi() {
  net::NetCeiling ceiling;
  ceiling.policy.base = net::NetBase::kNone;
  ceiling.policy.allow = {net::NetRule::parse("pypi.org").value()};
  ceiling.policy.budgets.connections = 10;
  return ceiling;
}

class NetworkRoutesTest : public ::testing::Test {
 protected:
  explicit NetworkRoutesTest(net::NetCeiling ceiling = {})
      : test_(with_ceiling(std::move(ceiling))) {
    key_ = test_.make_key("default", store::KeyRole::kUser);
    test_.session_service.make = [this](const node::SessionSpec& spec) {
      specs_.push_back(spec);
      return Result<std::shared_ptr<node::Session>>(
          std::make_shared<sessions::FakeIdleSession>(test_.io, spec.template_name));
    };
  }
  Answer send(Method method, const std::string& path, const std::string& body = {}) {
    return test_.send(method, path, key_, body);
  }
  json::object made(const std::string& body) {
    const Answer answer = send(Method::kPost, "/v1/sandboxes", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return json::parse(answer.body).as_object();
  }
  std::string make(const std::string& body = "{}") {
    return std::string(made(body).at("id").as_string());
  }
  std::string net_of(const std::string& id) {
    const Answer answer = send(Method::kGet, "/v1/sandboxes/" + id);
    return json::serialize(json::parse(answer.body).at("net"));
  }
  Answer change(const std::string& id, const std::string& body) {
    return send(Method::kPatch, "/v1/sandboxes/" + id, body);
  }

  TestServer test_;
  std::string key_;
  std::vector<node::SessionSpec> specs_;
};

class NarrowNetworkRoutes : public NetworkRoutesTest {
 protected:
  NarrowNetworkRoutes() : NetworkRoutesTest(only_pypi()) {}
};

TEST_F(NetworkRoutesTest, ARunHasItsPolicyAndReportsItsUsage) {
  test_.node.play = [](node::RunJob, node::RunSink&,
                       std::shared_ptr<node::CancelFlag>) -> Task<node::RunReport> {
    node::RunReport report;
    wire::NetworkFigures figures;
    figures.totals.bytes_out = 5;
    figures.totals.spent = static_cast<std::uint8_t>(wire::NetBudget::kNames);
    wire::NetDecision decision;
    decision.name = "pypi.org";
    decision.address = "151.101.0.223";
    decision.port = 443;
    decision.allowed = true;
    decision.rule = "allow pypi.org";
    decision.count = 2;
    figures.decisions.push_back(decision);
    report.network = figures;
    co_return report;
  };
  const Answer answer =
      send(Method::kPost, "/v1/run",
           R"({"language":"python","code":"1","profile":{"net":{"allow":["PyPI.org"]}}})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(test_.node.jobs.at(0).net, policy(R"({"allow":["pypi.org"]})"));
  EXPECT_EQ(test_.node.jobs.at(0).project, "default");
  const json::value network = json::parse(answer.body).at("metrics").at("network");
  EXPECT_EQ(network.at("bytes_out").as_int64(), 5);
  EXPECT_EQ(json::serialize(network.at("spent")), R"(["names"])");
  const json::value& decision = network.at("decisions").at(0);
  EXPECT_EQ(decision.at("name").as_string(), "pypi.org");
  EXPECT_EQ(decision.at("port").as_int64(), 443);
  EXPECT_EQ(decision.at("what").as_string(), "connect");
  EXPECT_TRUE(decision.at("first_at").is_null());
}

TEST_F(NetworkRoutesTest, WithoutAPolicyThereIsNoNetworkAndNoUsage) {
  const Answer answer = send(Method::kPost, "/v1/run", R"({"language":"python","code":"1"})");
  EXPECT_TRUE(test_.node.jobs.at(0).net.is_none());
  EXPECT_TRUE(json::parse(answer.body).at("metrics").at("network").is_null());
}

TEST_F(NarrowNetworkRoutes, BeyondTheCeilingIsForbiddenAndTheErrorNamesTheCeiling) {
  for (const char* net :
       {R"("all")", R"("https-only")", R"({"allow":["evil.example"]})", R"({"allow":["*"]})",
        R"({"allow":["pypi.org"],"budgets":{"connections":11}})"}) {
    const std::string profile = std::string(R"("profile":{"net":)") + net + "}";
    const Answer run =
        send(Method::kPost, "/v1/run", R"({"language":"python","code":"1",)" + profile + "}");
    EXPECT_EQ(run.status, 403) << net;
    EXPECT_EQ(code_of(run), "policy");
    EXPECT_THAT(run.body, HasSubstr("net.ceiling")) << run.body;
    EXPECT_THAT(run.body, HasSubstr("pypi.org"));
    const Answer sandbox = send(Method::kPost, "/v1/sandboxes", "{" + profile + "}");
    EXPECT_EQ(sandbox.status, 403) << net;
    EXPECT_EQ(code_of(sandbox), "policy");
  }
  EXPECT_TRUE(test_.node.jobs.empty());
  EXPECT_TRUE(specs_.empty());
  const std::string id = make(R"({"profile":{"net":{"allow":["pypi.org:443"]}}})");
  const Answer wider = change(id, R"({"net":"all","ttl_s":60})");
  EXPECT_EQ(wider.status, 403);
  EXPECT_TRUE(test_.networks.set.empty());
  EXPECT_NE(json::parse(send(Method::kGet, "/v1/sandboxes/" + id).body).at("ttl_s").as_int64(), 60);
}

TEST_F(NetworkRoutesTest, ASandboxHasNoNetworkByDefault) {
  EXPECT_EQ(net_of(make()), R"("none")");
  EXPECT_TRUE(specs_.at(0).net.is_none());
  EXPECT_EQ(net_of(make(R"({"profile":{"net":"https-only"}})")), R"("https-only")");
  EXPECT_EQ(specs_.at(1).net.base, net::NetBase::kHttpsOnly);
}

TEST_F(NetworkRoutesTest, APolicyCanChangeWhileTheSandboxRuns) {
  const std::string id = make();
  const Answer changed = change(id, R"({"net":{"allow":["*.Example.com:443"]}})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  const SandboxId parsed = SandboxId::parse(id).value();
  ASSERT_TRUE(test_.networks.set.contains(parsed));
  EXPECT_EQ(test_.networks.set.at(parsed).tenant, "default");
  EXPECT_THAT(net_of(id), HasSubstr("*.example.com:443"));
  bool is_stored = false;
  std::string stored;
  test_.store->get_session("default", parsed, [&](Result<store::SessionRecord> record) {
    stored = record ? record->net : "";
    is_stored = true;
  });
  test_.run_until([&] { return is_stored; });
  EXPECT_THAT(stored, HasSubstr("*.example.com:443"));
}

TEST_F(NetworkRoutesTest, ARestartedServerRestoresStoredPolicies) {
  const std::string id = make(R"({"profile":{"net":"all"}})");
  const std::string none = make();
  test_.restart();
  test_.run_until([&] { return !test_.networks.restored.empty(); });
  ASSERT_EQ(test_.networks.restored.size(), 2u);
  const auto& known = test_.networks.restored.at(SandboxId::parse(id).value());
  EXPECT_EQ(known.policy.base, net::NetBase::kAll);
  EXPECT_EQ(known.tenant, "default");
  EXPECT_TRUE(test_.networks.restored.at(SandboxId::parse(none).value()).policy.is_none());
  EXPECT_TRUE(test_.networks.is_restored);
}

TEST_F(NetworkRoutesTest, RefusesInvalidPolicies) {
  const std::string id = make();
  for (const char* body : {R"({"net":"some"})", R"({"net":null})", R"({"net":{}})",
                           R"({"net":{"allow":["127.1"]}})", R"({"net":{"allow":[],"x":1}})",
                           R"({"nets":"all"})", R"({"net":{"budgets":{"names":-1}}})"}) {
    const Answer answer = change(id, body);
    EXPECT_EQ(answer.status, 400) << body << answer.body;
  }
  EXPECT_EQ(change(SandboxId::make().str(), R"({"net":"all"})").status, 404);
  ASSERT_EQ(send(Method::kPost, "/v1/sandboxes/" + id + "/pause").status, 200);
  EXPECT_EQ(change(id, R"({"net":"all"})").status, 200);
  test_.networks.set.clear();
  ASSERT_EQ(send(Method::kDelete, "/v1/sandboxes/" + id).status, 204);
  EXPECT_EQ(change(id, R"({"net":"all"})").status, 409);
  EXPECT_EQ(send(Method::kGet, "/v1/sandboxes/" + id + "/network").status, 409);
  EXPECT_TRUE(test_.networks.set.empty());
}

TEST_F(NarrowNetworkRoutes, TooManyRulesAreAlwaysRefused) {
  std::string rules;
  for (std::size_t i = 0; i < net::kMaxRules; ++i) {
    rules += (i > 0 ? "," : "") +
             ("\"" +
              std::string(240, 'a').replace(60, 1, ".").replace(120, 1, ".").replace(180, 1, ".") +
              "." + std::to_string(i) + "a\"");
  }
  const std::string id = make();
  const Answer answer =
      change(id, R"({"net":{"allow":[)" + rules + R"(],"deny":[)" + rules + "]}}");
  EXPECT_EQ(answer.status, 400) << answer.body;
  EXPECT_TRUE(test_.networks.set.empty());
}

TEST_F(NetworkRoutesTest, WithoutAGatewayNothingIsChanged) {
  const std::string id = make();
  test_.networks.refuses = Error(Errc::kUnavailable, "the network gateway is not running");
  const Answer answer = change(id, R"({"net":"all"})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("gateway"));
  EXPECT_EQ(net_of(id), R"("none")");
}

TEST_F(NetworkRoutesTest, ShowsPolicyAndUsage) {
  const std::string id = make();
  const json::object before =
      json::parse(send(Method::kGet, "/v1/sandboxes/" + id + "/network").body).as_object();
  EXPECT_EQ(before.at("net").as_string(), "none");
  EXPECT_EQ(before.at("connections").as_int64(), 0);
  ASSERT_EQ(change(id, R"({"net":"all"})").status, 200);
  test_.networks.figures.totals.connections = 3;
  test_.networks.figures.totals.open = 1;
  const json::object after =
      json::parse(send(Method::kGet, "/v1/sandboxes/" + id + "/network").body).as_object();
  EXPECT_EQ(after.at("net").as_string(), "all");
  EXPECT_EQ(after.at("connections").as_int64(), 3);
  EXPECT_EQ(after.at("open").as_int64(), 1);
  EXPECT_EQ(test_
                .send(Method::kGet, "/v1/sandboxes/" + id + "/network",
                      test_.make_key("other", store::KeyRole::kUser))
                .status,
            404);
}

TEST_F(NetworkRoutesTest, AnAgentsSandboxWithADifferentPolicyIsAConflict) {
  const std::string id = make(R"({"agent_id":"a","profile":{"net":"all"}})");
  const Answer other =
      send(Method::kPost, "/v1/sandboxes", R"({"agent_id":"a","profile":{"net":"none"}})");
  EXPECT_EQ(other.status, 409);
  EXPECT_THAT(other.body, HasSubstr("has a different net"));
  EXPECT_EQ(send(Method::kPost, "/v1/sandboxes", R"({"agent_id":"a"})").status, 200);
}

TEST_F(NetworkRoutesTest, DecisionsAreEventsOfTheirProjectAndBounded) {
  auto mine = test_.events.subscribe("default", std::nullopt);
  auto other = test_.events.subscribe("other", std::nullopt);
  const SandboxId id = SandboxId::make();
  wire::NetDecision decision;
  decision.what = wire::NetDecision::What::kResolve;
  decision.name = "a.example";
  decision.rule = "not in the policy";
  for (int i = 0; i < 200; ++i) {
    test_.networks.decided({.id = id, .tenant = "default", .decision = decision});
  }
  test_.networks.restarted({.tenant = "default", .ids = {id}});
  const auto events = mine->take();
  ASSERT_GE(events.size(), 2u);
  EXPECT_LE(events.size(), 60u);
  EXPECT_EQ(events.front().type, "network.decided");
  EXPECT_THAT(events.front().data, HasSubstr(id.str()));
  EXPECT_THAT(events.front().data, HasSubstr("a.example"));
  EXPECT_EQ(events.back().type, "network.restarted");
  EXPECT_THAT(events.back().data, HasSubstr(id.str()));
  EXPECT_TRUE(other->take().empty());
}

TEST_F(NetworkRoutesTest, ReadinessShowsTheGatewayButDoesNotDependOnIt) {
  const Answer answer = send(Method::kGet, "/health/ready");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(json::parse(answer.body).at("gateway").as_string(), "down");
  test_.node.now.network.gateway_up = true;
  test_.node.now.network.bytes_out = 12;
  EXPECT_EQ(json::parse(send(Method::kGet, "/health/ready").body).at("gateway").as_string(), "up");
  const Answer metrics = test_.send(Method::kGet, "/metrics", test_.admin_key);
  EXPECT_THAT(metrics.body, HasSubstr("glovebox_gateway_up 1"));
  EXPECT_THAT(metrics.body, HasSubstr("glovebox_network_bytes_total{direction=\"out\"} 12"));
}

}  // namespace
}  // namespace glovebox::api
