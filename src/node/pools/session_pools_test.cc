// Sessions that wait ahead of requests: whose they are, who gets one, and when they go again.
#include "node/pools/session_pools.h"

#include "node/pools/tenant_number.h"
#include "node/testing/session_fixture.h"

namespace glovebox::node {
namespace {

using testing::Each;

class SessionPoolTest : public SessionTest {
 protected:
  void begin_with(SessionPoolRequest wanted) {
    wanted.template_name = "base";
    node = std::make_unique<Node>(io, options);
    known = {status_of("base", RuntimeKind::kNone, 0, 0)};
    listen();
    std::vector<SessionPoolRequest> all;
    all.push_back(std::move(wanted));
    node->set_session_pools("test", std::move(all));
    attach();
    until([&] { return service().adopted(); });
  }
  static SessionPoolRequest of_mine(PoolBounds bounds) {
    return {.template_name = {}, .project = "mine", .bounds = bounds};
  }
  static SessionSpec spec_of(std::string project) {
    SessionSpec wanted = spec();
    wanted.project = wanted.owner = std::move(project);
    wanted.limits = session_limits(Limits{});
    return wanted;
  }
  std::shared_ptr<Session> make_with(SessionSpec wanted) {
    auto session = await(service().create_session(std::move(wanted), nullptr));
    EXPECT_TRUE(session.has_value()) << session.error().message();
    return std::move(*session);
  }
};

TEST_F(SessionPoolTest, OneThatWaitsIsTakenAndAnotherIsMade) {
  begin_with(of_mine({2, 2}));
  fill("base", 2);
  EXPECT_TRUE(pool("base").is_of_sessions);
  EXPECT_TRUE(service().sessions().empty());  // no project has taken them yet
  const std::set<std::string> waiting = launcher.alive;
  const auto session = make_with(spec_of("mine"));
  EXPECT_TRUE(waiting.contains(session->id().str()));
  EXPECT_EQ(service().sessions().size(), 1u);
  EXPECT_EQ(pool("base").hits, 1u);
  EXPECT_EQ(pool("base").misses, 0u);
  fill("base", 2);
  EXPECT_EQ(launcher.created, 3);
  // The launcher counts them as their project's from the first moment on.
  EXPECT_THAT(launcher.tenants, Each(tenant_number("mine")));
}

TEST_F(SessionPoolTest, IsChargedToItsOwnerFromTheTakeOn) {
  options.session_overcommit = 4;
  begin_with(of_mine({1, 1}));
  fill("base", 1);
  EXPECT_EQ(node->figures().memory_committed_bytes, options.waiting_memory_bytes);
  const auto session = make_with(spec_of("mine"));
  fill("base", 1);
  EXPECT_EQ(node->figures().memory_committed_bytes,
            ((512ull + 256ull) << 20) / 4 + options.waiting_memory_bytes);
}

TEST_F(SessionPoolTest, OtherProjectsLimitsAndLayersAreMadeOnRequest) {
  begin_with(of_mine({1, 1}));
  fill("base", 1);
  const std::set<std::string> waiting = launcher.alive;
  SessionSpec larger = spec_of("mine");
  larger.limits.memory_bytes *= 2;
  SessionSpec with_layer = spec_of("mine");
  with_layer.layer = std::string(32, 'a');
  with_layer.make_layer = true;
  for (const SessionSpec& wanted : {spec_of("other"), larger, with_layer}) {
    const auto session = make_with(wanted);
    EXPECT_FALSE(waiting.contains(session->id().str()));
  }
  EXPECT_EQ(pool("base").hits, 0u);
  EXPECT_EQ(pool("base").idle, 1u);
}

TEST_F(SessionPoolTest, OfEveryProjectGrowsWithDemandAndShrinksWithoutIt) {
  SessionPoolRequest of_all;
  of_all.bounds = {4, 4};
  begin_with(of_all);
  settle();
  EXPECT_TRUE(node->figures().pools.empty());
  const auto first = make_with(spec_of("one"));
  EXPECT_EQ(pool("base").misses, 1u);
  until([&] { return pool("base").idle > 0; });
  const auto second = make_with(spec_of("one"));
  EXPECT_EQ(pool("base").hits, 1u);
  until([&] { return pool("base").idle > 0; });
  now += options.idle_decay + seconds(1);
  fill("base", 0);
  until([&] { return launcher.alive.size() == 2; });
}

TEST_F(SessionPoolTest, WhatWaitsMakesRoomForWhatIsAskedFor) {
  options.max_sandboxes = 2;
  begin_with(of_mine({2, 2}));
  fill("base", 2);
  const auto session = make_with(spec_of("other"));
  EXPECT_EQ(pool("base").idle, 1u);
}

TEST_F(SessionPoolTest, FollowsTheLimitsOfItsTemplate) {
  begin_with(of_mine({1, 1}));
  fill("base", 1);
  const std::set<std::string> before = launcher.alive;
  TemplateStatus changed = known[0];
  changed.description.limits.memory_bytes = 100u << 20;
  launcher.tell(changed);
  SessionSpec wanted = spec_of("mine");
  wanted.limits.memory_bytes = 100u << 20;
  until([&] { return launcher.alive.size() == 1 && launcher.alive != before; });
  const std::set<std::string> after = launcher.alive;
  EXPECT_TRUE(after.contains(make_with(wanted)->id().str()));
}

TEST_F(SessionPoolTest, AProjectsTemplateHasPoolsOfBothKinds) {
  begin_base();
  const std::string id = "own.aaaaaaaaaaaaaaaaaaaa";
  TemplatePools pools{.project = "mine", .runs = PoolBounds{1, 2}, .sessions = {2, 3}};
  node->dynamic_templates().set_pools(id, pools);
  launcher.tell(status_of(id, RuntimeKind::kNone, 0, 0));
  const auto idle = [&](bool of_sessions) {
    std::uint32_t sum = 0;
    for (const PoolFigures& one : node->figures().pools) {
      if (one.template_name == id && one.is_of_sessions == of_sessions) sum += one.idle;
    }
    return sum;
  };
  until([&] { return idle(false) == 1 && idle(true) == 2; });
  node->dynamic_templates().set_pools(id, {});
  until([&] { return idle(true) == 0; });
}

TEST_F(SessionPoolTest, AnAdministratorsTemplateHasOneToo) {
  begin_base();
  TemplateStatus status = status_of("ready", RuntimeKind::kNone, 0, 0);
  status.description.session_pool = {2, 3};
  launcher.tell(status);
  fill("ready", 2);
  EXPECT_TRUE(pool("ready").is_of_sessions);
  EXPECT_THAT(launcher.tenants, Each(tenant_number("default")));
  SessionSpec wanted = spec_of("default");
  wanted.template_name = "ready";
  const std::set<std::string> waiting = launcher.alive;
  EXPECT_TRUE(waiting.contains(make_with(wanted)->id().str()));
  fill("ready", 2);
  status.description.session_pool = {};
  launcher.tell(status);
  until([&] { return pool("ready").idle == 0; });
}

TEST_F(SessionPoolTest, NothingThatWaitedOutlivesTheServer) {
  begin_with(of_mine({2, 2}));
  fill("base", 2);
  const auto session = make_with(spec_of("mine"));
  fill("base", 2);
  node.reset();
  until([&] { return launcher.alive.size() == 1; });
  EXPECT_TRUE(launcher.alive.contains(session->id().str()));
}

}  // namespace
}  // namespace glovebox::node
