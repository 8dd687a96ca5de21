// Templates of a server's own: told to the launcher that is there and to every one after it, and
// not among the administrator's.
#include "model/template_rules.h"
#include "node/testing/session_fixture.h"

namespace glovebox::node {
namespace {

class OwnTemplatesTest : public SessionTest {
 protected:
  static TemplateDefinition definition() {
    return {.id = make_dynamic_template_id(),
            .from = "base",
            .preload = {},
            .env = {"A=b"},
            .limits = {}};
  }
  TemplateService& own() { return node->dynamic_templates(); }
};

TEST_F(OwnTemplatesTest, IsDefinedStartedAndUsed) {
  begin_base();
  const TemplateDefinition wanted = definition();
  ASSERT_TRUE(await(own().define(wanted)).has_value());
  EXPECT_EQ(launcher.defined.at(wanted.id), wanted);
  ASSERT_NE(own().find(wanted.id), nullptr);
  until([&] { return launcher.prepared == 1; });
  SessionSpec made_of = spec();
  made_of.template_name = wanted.id;
  ASSERT_TRUE(await(service().create_session(made_of, nullptr)).has_value());
  EXPECT_EQ(launcher.templates.back(), wanted.id);
}

TEST_F(OwnTemplatesTest, IsNotAmongTheAdministrators) {
  begin_base();
  const TemplateDefinition wanted = definition();
  ASSERT_TRUE(await(own().define(wanted)).has_value());
  EXPECT_EQ(node->templates().size(), 1u);
  EXPECT_EQ(node->find_template(wanted.id), nullptr);
  EXPECT_EQ(own().find("base"), nullptr);
}

TEST_F(OwnTemplatesTest, WhatTheLauncherRefusesIsNotKept) {
  begin_base();
  launcher.refuses_definitions = wire::SandboxRefused{0, Errc::kPolicy, 0, "too much"};
  const TemplateDefinition wanted = definition();
  const Result<> done = await(own().define(wanted));
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code(), Errc::kPolicy);
  launcher.refuses_definitions.reset();
  attach();
  until([&] { return service().adopted(); });
  EXPECT_TRUE(launcher.defined.empty());
}

TEST_F(OwnTemplatesTest, WithoutALauncherThereIsNone) {
  node = std::make_unique<Node>(io, options);
  EXPECT_EQ(await(own().define(definition())).error().code(), Errc::kUnavailable);
}

TEST_F(OwnTemplatesTest, EveryLauncherIsTold) {
  node = std::make_unique<Node>(io, options);
  const TemplateDefinition kept = definition();
  own().keep({kept});
  EXPECT_FALSE(own().settled());
  known = {status_of("base", RuntimeKind::kNone, 0, 0)};
  attach();
  until([&] { return own().settled(); });
  EXPECT_NE(own().find(kept.id), nullptr);
  const TemplateDefinition fresh = definition();
  ASSERT_TRUE(await(own().define(fresh)).has_value());
  attach();  // another launcher, as after kill -9
  until([&] { return own().settled(); });
  EXPECT_EQ(launcher.defined.size(), 2u);
  EXPECT_EQ(launcher.defined.at(fresh.id), fresh);
}

TEST_F(OwnTemplatesTest, ARunThatWaitsForALauncherGetsItsTemplate) {
  begin_base();
  const TemplateDefinition wanted = definition();
  ASSERT_TRUE(await(own().define(wanted)).has_value());
  launcher.die();
  until([&] { return !node->figures().launcher_up; });
  RunJob job = shell();
  job.template_name = wanted.id;
  const auto call = NodeTest::start(std::move(job));
  settle();
  EXPECT_FALSE(call->done());
  attach();
  until([&] { return call->done(); });
  EXPECT_TRUE(call->result->has_value());
}

TEST_F(OwnTemplatesTest, IsForgottenHereAndThere) {
  begin_base();
  const TemplateDefinition wanted = definition();
  ASSERT_TRUE(await(own().define(wanted)).has_value());
  own().forget(wanted.id);
  EXPECT_EQ(own().find(wanted.id), nullptr);
  until([&] { return launcher.defined.empty(); });
  SessionSpec made_of = spec();
  made_of.template_name = wanted.id;
  settle();
  auto made = spawn(service().create_session(made_of, nullptr));
  settle();
  now += seconds(2);
  until([&] { return made->has_value(); });
  EXPECT_EQ((*made)->error().code(), Errc::kNotFound);
  attach();
  until([&] { return service().adopted(); });
  EXPECT_TRUE(launcher.defined.empty());
}

TEST_F(OwnTemplatesTest, OneThatALaterLauncherRefusesIsTriedAgainWhenItsBaseIsBack) {
  begin_base();
  const TemplateDefinition wanted = definition();
  ASSERT_TRUE(await(own().define(wanted)).has_value());
  launcher.refuses_definitions = wire::SandboxRefused{0, Errc::kNotFound, 0, "no base"};
  node->attach_launcher(launcher.connect());
  until([&] { return own().refusal_of(wanted.id).has_value(); });
  EXPECT_EQ(own().refusal_of(wanted.id)->message(), "no base");
  EXPECT_TRUE(own().settled());
  launcher.refuses_definitions.reset();
  launcher.tell(status_of("base", RuntimeKind::kNone, 0, 0));
  until([&] { return launcher.defined.contains(wanted.id); });
  until([&] { return own().settled(); });
  EXPECT_FALSE(own().refusal_of(wanted.id).has_value());
}

}  // namespace
}  // namespace glovebox::node
