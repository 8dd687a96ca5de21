// Networks of runs and sessions, through a whole node: lent, opened, changed, read, opened again.
#include "node/testing/session_fixture.h"

namespace glovebox::node {
namespace {

using testing::ElementsAre;

net::NetPolicy all() {
  net::NetPolicy policy;
  policy.base = net::NetBase::kAll;
  return policy;
}

net::NetPolicy https_only() {
  net::NetPolicy policy;
  policy.base = net::NetBase::kHttpsOnly;
  return policy;
}

class NetworksTest : public SessionTest {
 protected:
  ~NetworksTest() override {
    if (!node) return;
    node->networks().on_decided({});
    node->networks().on_restarted({});
  }

  void begin_with_gateway(std::vector<TemplateStatus> templates) {
    begin(std::move(templates));
    attach_gateway();
  }
  void attach_gateway() {
    node->networks().on_restarted(
        [this](const NetworkService::Restarted& what) { restarted.push_back(what); });
    const int before = gateway.listed;
    node->attach_gateway(gateway.connect());
    until([&] { return gateway.listed > before; });
    settle();
  }
  using NodeTest::start;
  static RunJob with_network(RunJob job) {
    job.net = all();
    job.project = "p";
    return job;
  }
  std::shared_ptr<Session> make_with(net::NetPolicy policy) {
    SessionSpec wanted = spec();
    wanted.net = std::move(policy);
    wanted.project = "p";
    auto session = await(service().create_session(std::move(wanted), nullptr));
    EXPECT_TRUE(session.has_value()) << session.error().message();
    return std::move(*session);
  }

  std::vector<NetworkService::Restarted> restarted;
};

TEST_F(NetworksTest, ARunWithoutANetworkSendsNoRequest) {
  begin_with_gateway({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  const auto call = finish(python());
  ASSERT_TRUE(*call->result);
  EXPECT_FALSE((*call->result)->network);
  EXPECT_EQ(launcher.lent, 0);
  EXPECT_EQ(gateway.opened, 0);
  EXPECT_TRUE(launcher.brought_up.empty());
  EXPECT_EQ(launcher.networks[0], NetworkStage::kNone);
}

TEST_F(NetworksTest, ARunGetsASandboxThatWasPreparedAndItsReportHasWhatItDid) {
  begin_with_gateway({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  launcher.script.hangs = true;
  const auto call = start(with_network(python()));
  until([&] { return gateway.networks.size() == 1; });
  auto& [id, network] = *gateway.networks.begin();
  EXPECT_EQ(network.tenant, "p");
  EXPECT_EQ(network.policy, all());
  EXPECT_FALSE(gateway.missed_descriptors);
  EXPECT_THAT(launcher.brought_up, ElementsAre(id.str()));
  network.totals.bytes_out = 7;
  network.totals.connections = 2;
  network.totals.denied = 1;
  launcher.end(id.str(), EndReason::kWallTimeout);
  until([&] { return call->done(); });
  ASSERT_TRUE(*call->result) << call->result->error().message();
  ASSERT_TRUE((*call->result)->network);
  EXPECT_EQ((*call->result)->network->totals.bytes_out, 7u);
  EXPECT_FALSE((*call->result)->network->incomplete);
  EXPECT_TRUE(gateway.networks.empty());
  const NetworkTotals sums = node->figures().network;
  EXPECT_EQ(sums.bytes_out, 7u);
  EXPECT_EQ(sums.connections, 2u);
  EXPECT_EQ(sums.denied, 1u);
  EXPECT_EQ(sums.networks, 0u);
}

TEST_F(NetworksTest, AfterARunWithOneThoseThatWaitArePrepared) {
  begin_with_gateway({status_of("python", RuntimeKind::kPython, 2, 2)});
  fill("python", 2);
  ASSERT_TRUE(*finish(with_network(python()))->result);
  fill("python", 2);
  const std::uint64_t misses = pool("python").misses;
  const auto all_prepared = [&] {
    return std::count(launcher.networks.begin(), launcher.networks.end(),
                      NetworkStage::kPrepared) >= 3;
  };
  until([&] {
    now += milliseconds(1100);
    settle();
    return all_prepared() && pool("python").idle == 2;
  });
  ASSERT_TRUE(*finish(with_network(python()))->result);
  EXPECT_EQ(pool("python").misses, misses);
  // A run without a network takes such a sandbox all the same.
  fill("python", 2);
  ASSERT_TRUE(*finish(python())->result);
  EXPECT_EQ(pool("python").misses, misses);
  // Without demand for a while, none is prepared any more.
  now += options.prepare_networks_for + seconds(1);
  const std::size_t made = launcher.networks.size();
  until([&] { return launcher.networks.size() > made; });
  EXPECT_EQ(launcher.networks.back(), NetworkStage::kNone);
}

TEST_F(NetworksTest, OneMadeForARunIsMadeWithIt) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  ASSERT_TRUE(*finish(with_network(shell()))->result);
  EXPECT_THAT(launcher.networks, ElementsAre(NetworkStage::kUp));
  EXPECT_EQ(gateway.opened, 1);
  EXPECT_EQ(gateway.closed.size(), 1u);
}

TEST_F(NetworksTest, WithoutAGatewayARunThatWantsOneIsRefusedBeforeItBegins) {
  options.gateway_wait = milliseconds(20);
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto call = finish(with_network(shell()));
  ASSERT_FALSE(*call->result);
  EXPECT_EQ(call->result->error().code(), Errc::kUnavailable);
  EXPECT_THAT(call->result->error().message(), HasSubstr("gateway"));
  EXPECT_FALSE(call->sink.may_have_run());
  EXPECT_EQ(launcher.created, 0);
  EXPECT_TRUE(*finish(shell())->result);
}

TEST_F(NetworksTest, AGatewayThatIsJustBeingStartedIsWaitedFor) {
  begin({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto call = start(with_network(shell()));
  settle();
  EXPECT_FALSE(call->done());
  attach_gateway();
  until([&] { return call->done(); });
  EXPECT_TRUE(*call->result);
}

TEST_F(NetworksTest, AKernelThatCannotIsSaidAndRunsWithoutGoOn) {
  launcher.can_network = false;
  begin_with_gateway({status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  for (int i = 0; i < 2; ++i) {
    const auto call = finish(with_network(python()));
    ASSERT_FALSE(*call->result);
    EXPECT_EQ(call->result->error().code(), Errc::kUnsupported);
  }
  EXPECT_TRUE(*finish(python())->result);
}

TEST_F(NetworksTest, WhatCannotBeOpenedEndsTheRunAndSaysWhy) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script.hangs = true;
  gateway.refuses = wire::NetworkRefused{0, Errc::kResourceExhausted, "too many networks"};
  const auto call = finish(with_network(shell()));
  ASSERT_FALSE(*call->result);
  EXPECT_EQ(call->result->error().code(), Errc::kResourceExhausted);
  EXPECT_THAT(call->result->error().message(), HasSubstr("too many networks"));
  until([&] { return launcher.alive.empty(); });

  gateway.refuses.reset();
  launcher.refuses_lending = wire::SandboxRefused{0, Errc::kInternal, 0, "no sockets"};
  const auto other = finish(with_network(shell()));
  ASSERT_FALSE(*other->result);
  EXPECT_THAT(other->result->error().message(), HasSubstr("no sockets"));
  until([&] { return launcher.alive.empty(); });
}

TEST_F(NetworksTest, ARestartOfTheGatewayCutsNoRunAndOpensItAgain) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  launcher.script.hangs = true;
  const auto call = start(with_network(shell()));
  until([&] { return gateway.networks.size() == 1; });
  const SandboxId id = gateway.networks.begin()->first;
  gateway.die();
  until([&] { return !node->networks().gateway_up(); });
  settle();
  EXPECT_FALSE(call->done());
  attach_gateway();
  until([&] { return gateway.networks.contains(id) && !restarted.empty(); });
  ASSERT_EQ(restarted.size(), 1u);
  EXPECT_EQ(restarted[0].tenant, "p");
  EXPECT_THAT(restarted[0].ids, ElementsAre(id));
  EXPECT_EQ(node->figures().network.gateway_losses, 1u);
  launcher.end(id.str(), EndReason::kWallTimeout);
  until([&] { return call->done(); });
  ASSERT_TRUE(*call->result);
  EXPECT_TRUE((*call->result)->network->incomplete);
}

TEST_F(NetworksTest, AGatewayThatOnlyLostUsIsNotSaidToHaveBeenRestarted) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto session = make_with(all());
  const int opened = gateway.opened;
  gateway.hang_up();
  until([&] { return !node->networks().gateway_up(); });
  attach_gateway();
  until([&] { return gateway.changed == 1; });
  settle();
  EXPECT_EQ(gateway.opened, opened);
  EXPECT_TRUE(restarted.empty());
}

TEST_F(NetworksTest, ASessionIsPreparedAndGivenOneLater) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto session = make();
  EXPECT_THAT(launcher.networks, ElementsAre(NetworkStage::kPrepared));
  EXPECT_EQ(await(node->networks().read_network(session->id())).error().code(), Errc::kNotFound);
  ASSERT_TRUE(await(node->networks().set_network(session->id(), "p", {})));  // as it is
  EXPECT_EQ(gateway.opened, 0);
  ASSERT_TRUE(await(node->networks().set_network(session->id(), "p", all())));
  EXPECT_EQ(gateway.networks.at(session->id()).policy, all());
  gateway.networks.at(session->id()).totals.bytes_in = 9;
  const auto figures = await(node->networks().read_network(session->id()));
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->totals.bytes_in, 9u);
  ASSERT_TRUE(await(node->networks().set_network(session->id(), "p", https_only())));
  EXPECT_EQ(gateway.networks.at(session->id()).policy, https_only());
  EXPECT_EQ(gateway.opened, 1);
  ASSERT_TRUE(await(node->networks().set_network(session->id(), "p", {})));
  EXPECT_TRUE(gateway.networks.at(session->id()).policy.is_none());
  EXPECT_TRUE(await(service().destroy_session(session->id())));
  until([&] { return gateway.networks.empty(); });
  EXPECT_EQ(node->figures().network.bytes_in, 9u);
}

TEST_F(NetworksTest, ASessionsNetworkIsNoReasonToPrepareOthers) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0),
                      status_of("python", RuntimeKind::kPython, 1, 1)});
  fill("python", 1);
  const auto session = make_with(all());
  now += options.renew_after + seconds(1);
  const std::size_t made = launcher.networks.size();
  until([&] { return launcher.networks.size() > made; });
  EXPECT_EQ(launcher.networks.back(), NetworkStage::kNone);
}

TEST_F(NetworksTest, ASessionThatCouldNotBeGivenOneIsNotMade) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  gateway.refuses = wire::NetworkRefused{0, Errc::kResourceExhausted, "too many networks"};
  SessionSpec wanted = spec();
  wanted.net = all();
  const auto session = await(service().create_session(std::move(wanted), nullptr));
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message(), HasSubstr("too many networks"));
  until([&] { return launcher.alive.empty(); });
}

TEST_F(NetworksTest, ABuildsIsOpenedAndOpenedAgainAsABuilds) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  std::vector<SandboxId> decided;
  node->networks().on_decided(
      [&](const NetworkService::Decided& what) { decided.push_back(what.id); });
  const auto ordinary = make_with(all())->id();
  SessionSpec wanted = spec();
  wanted.net = all();
  wanted.project = "p";
  wanted.is_build = true;
  const auto made = await(service().create_session(std::move(wanted), nullptr));
  ASSERT_TRUE(made);
  const SandboxId build = (*made)->id();
  EXPECT_TRUE(gateway.networks.at(build).is_build);
  EXPECT_FALSE(gateway.networks.at(ordinary).is_build);
  // Decisions about a build are not reported.
  wire::NetDecision decision;
  decision.name = "pypi.org";
  decision.rule = "allow pypi.org:443";
  gateway.decide(build, decision);
  gateway.decide(ordinary, decision);
  until([&] { return !decided.empty(); });
  EXPECT_THAT(decided, ElementsAre(ordinary));

  gateway.die();
  until([&] { return !node->networks().gateway_up(); });
  attach_gateway();
  until([&] { return gateway.networks.size() == 2 && !restarted.empty(); });
  EXPECT_TRUE(gateway.networks.at(build).is_build);
  EXPECT_FALSE(gateway.networks.at(ordinary).is_build);
  ASSERT_EQ(restarted.size(), 1u);
  EXPECT_THAT(restarted[0].ids, ElementsAre(ordinary));
  // It stays one, whatever it may reach.
  ASSERT_TRUE(await(node->networks().set_network(build, "p", https_only())));
  EXPECT_TRUE(gateway.networks.at(build).is_build);
}

TEST_F(NetworksTest, ASessionIsMadeWithItsLayer) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  SessionSpec wanted = spec();
  wanted.layer = std::string(32, 'a');
  wanted.make_layer = true;
  ASSERT_TRUE(await(service().create_session(wanted, nullptr)));
  wanted.make_layer = false;
  ASSERT_TRUE(await(service().create_session(wanted, nullptr)));
  ASSERT_TRUE(await(service().create_session(spec(), nullptr)));
  using Made = std::pair<std::string, bool>;
  EXPECT_THAT(launcher.made_with_layer,
              ElementsAre(Made(wanted.layer, true), Made(wanted.layer, false)));
}

TEST_F(NetworksTest, WhileThereIsNoGatewayNothingIsChanged) {
  options.gateway_wait = milliseconds(20);
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto session = make_with(all());
  gateway.die();
  until([&] { return !node->networks().gateway_up(); });
  const auto changed = await(node->networks().set_network(session->id(), "p", https_only()));
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code(), Errc::kUnavailable);
  attach_gateway();
  until([&] { return gateway.networks.contains(session->id()); });
  EXPECT_EQ(gateway.networks.at(session->id()).policy, all());
}

TEST_F(NetworksTest, TheServerAfterUsTellsTheGatewayWhatItFinds) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto kept = make_with(all())->id();
  const auto missing = make_with(all())->id();
  restart_server();
  gateway.networks.erase(missing);  // it was restarted, too, after the first was opened
  until([&] { return service().adopted(); });
  node->networks().restore_network(kept, "p", https_only());
  node->networks().restore_network(missing, "p", all());
  attach_gateway();
  until([&] { return gateway.networks.contains(missing) && !restarted.empty(); });
  EXPECT_EQ(gateway.networks.at(kept).policy, https_only());
  ASSERT_EQ(restarted.size(), 1u);
  EXPECT_THAT(restarted[0].ids, ElementsAre(missing));
}

TEST_F(NetworksTest, NetworksWithoutAPolicyOrARecordAreClosedByTheNextServer) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto none_now = make_with(all())->id();
  const auto unknown = make_with(all())->id();
  const auto never = make()->id();
  restart_server();
  until([&] { return service().adopted(); });
  node->networks().restore_network(none_now, "p", {});
  node->networks().restore_network(never, "p", {});
  attach_gateway();
  until([&] { return gateway.networks.at(none_now).policy.is_none(); });
  EXPECT_TRUE(gateway.networks.contains(unknown));
  node->networks().restored_all();
  until([&] { return !gateway.networks.contains(unknown); });
  EXPECT_TRUE(gateway.networks.contains(none_now));
  EXPECT_FALSE(gateway.networks.contains(never));
  EXPECT_EQ(await(node->networks().read_network(never)).error().code(), Errc::kNotFound);
  EXPECT_TRUE(restarted.empty());
}

TEST_F(NetworksTest, AChangeWhileItIsOpenedAgainIsFollowed) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto id = make_with(all())->id();
  gateway.die();
  until([&] { return !node->networks().gateway_up(); });
  node->attach_gateway(gateway.connect());
  const int lent = launcher.lent;
  until([&] { return launcher.lent > lent; });  // on its way, with what it had
  ASSERT_TRUE(await(node->networks().set_network(id, "p", https_only())));
  EXPECT_EQ(gateway.networks.at(id).policy, https_only());
}

TEST_F(NetworksTest, WhatTheGatewayDoesNotAllowAnyMoreIsRefusedAndNotLeftHanging) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto id = make_with(all())->id();
  gateway.die();
  until([&] { return !node->networks().gateway_up(); });
  gateway.refuses_all_but_none = true;
  attach_gateway();
  until([&] { return gateway.networks.contains(id); });
  EXPECT_TRUE(gateway.networks.at(id).policy.is_none());
}

TEST_F(NetworksTest, APolicyThatIsTooLongForAMessageDoesNotCostTheGateway) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto session = make_with(all());
  net::NetPolicy long_one;
  for (std::size_t i = 0; i <= net::kMaxRules; ++i) {
    long_one.allow.push_back(net::NetRule::parse("n" + std::to_string(i) + ".example").value());
  }
  const auto changed = await(node->networks().set_network(session->id(), "p", long_one));
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code(), Errc::kInvalidArgument);
  settle();
  EXPECT_TRUE(node->networks().gateway_up());
  EXPECT_EQ(node->figures().network.gateway_losses, 0u);
  EXPECT_EQ(gateway.networks.at(session->id()).policy, all());
}

TEST_F(NetworksTest, ASessionThatIsFoundAfterTheGatewayIsOpenedAtOnce) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto id = make_with(all())->id();
  restart_server();
  gateway.die();
  attach_gateway();
  until([&] { return service().adopted(); });
  node->networks().restore_network(id, "p", all());
  until([&] { return gateway.networks.contains(id); });
}

TEST_F(NetworksTest, DecisionsAreToldWithTheirProject) {
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  std::vector<NetworkService::Decided> told;
  node->networks().on_decided([&](const NetworkService::Decided& one) { told.push_back(one); });
  const auto session = make_with(all());
  wire::NetDecision decision;
  decision.name = "a.example";
  decision.rule = "base all";
  gateway.decide(SandboxId::make(), decision);  // of an unknown sandbox
  gateway.decide(session->id(), decision);
  until([&] { return !told.empty(); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].id, session->id());
  EXPECT_EQ(told[0].tenant, "p");
  EXPECT_EQ(told[0].decision.name, "a.example");
}

TEST_F(NetworksTest, AGatewayThatAnswersNothingOrNonsenseIsLetGoOf) {
  options.gateway_patience = milliseconds(60);
  begin_with_gateway({status_of("base", RuntimeKind::kNone, 0, 0)});
  const auto session = make_with(all());
  gateway.is_silent = true;
  const auto figures = await(node->networks().read_network(session->id()));
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().code(), Errc::kUnavailable);
  until([&] { return !node->networks().gateway_up(); });
  gateway.is_silent = false;
  attach_gateway();
  ASSERT_TRUE(node->networks().gateway_up());
  gateway.say_garbage();
  until([&] { return !node->networks().gateway_up(); });
  EXPECT_EQ(node->figures().network.gateway_losses, 2u);
}

}  // namespace
}  // namespace glovebox::node
