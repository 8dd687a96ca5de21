#include "packages/package_set_templates.h"

#include "model/template_rules.h"
#include "packages/testing/fake_host.h"
#include "packages/testing/fake_packages.h"

namespace glovebox::packages {
namespace {

using std::chrono::milliseconds;

class PackageSetTemplatesTest : public ::testing::Test {
 protected:
  PackageSetTemplatesTest() {
    options.look_every = milliseconds(1);
    options.ready_within = milliseconds(50);
    options.again_within = milliseconds(20);
    options.launcher_within = milliseconds(200);
    options.now = [this] { return now; };
  }
  PackageSetTemplates& templates() {
    if (!made) made = std::make_unique<PackageSetTemplates>(io, service, sessions, options);
    return *made;
  }
  static TemplateDefinition of(char layer) {
    TemplateDefinition definition;
    definition.from = "python";
    definition.layers = {std::string(32, layer)};
    return definition;
  }
  Result<PackageSetTemplates::Ready> ready(TemplateDefinition definition,
                                           const std::string& project = "p") {
    const OnBuildProgress report = [this](const BuildProgress& progress) {
      heard.push_back(std::string(phase_name(progress.phase)) + ":" + progress.text);
    };
    auto cancel = std::make_shared<node::CancelFlag>();
    return run_task(io, templates().ready(project, std::move(definition), report, cancel));
  }

  asio::io_context io;
  DefinedTemplates service;
  NamedSessions sessions;
  PackageSetTemplatesOptions options;
  PackageSetTemplatesOptions::Clock::time_point now{};
  std::vector<std::string> heard;
  std::unique_ptr<PackageSetTemplates> made;
};

TEST_F(PackageSetTemplatesTest, EqualRequestsShareATemplateThatIsDefinedOnce) {
  auto first = ready(of('a'));
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_TRUE(is_dynamic_template_id(first->id));
  EXPECT_EQ(first->cold_because, "");
  EXPECT_EQ(heard, std::vector<std::string>{"warming:"});
  auto second = ready(of('a'));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->id, first->id);
  EXPECT_EQ(service.asked.size(), 1u);
  EXPECT_EQ(heard.size(), 1u) << "nothing happens when it is there";
  EXPECT_NE(ready(of('b'))->id, first->id);
  EXPECT_NE(ready(of('a'), "q")->id, first->id);
}

TEST_F(PackageSetTemplatesTest, AFailedPreloadRunsColdAndIsReported) {
  service.state = RuntimeState::kFailed;
  service.error = "ModuleNotFoundError: nothing";
  auto first = ready(of('a'));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->cold_because, "ModuleNotFoundError: nothing");
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_NE(heard[1].find("ModuleNotFoundError"), std::string::npos);
  EXPECT_EQ(ready(of('a'))->cold_because, "ModuleNotFoundError: nothing");
}

TEST_F(PackageSetTemplatesTest, RunsColdIfNotReadyInTime) {
  service.state = RuntimeState::kStarting;
  auto first = ready(of('a'));
  ASSERT_TRUE(first);
  EXPECT_NE(first->cold_because, "");
}

TEST_F(PackageSetTemplatesTest, AnImageByItselfIsNotWaitedFor) {
  TemplateDefinition wanted;
  wanted.from = "python";
  wanted.image = std::string(32, 'a');
  service.state = RuntimeState::kStarting;
  const auto first = ready(wanted);
  ASSERT_TRUE(first);
  EXPECT_NE(first->cold_because.find("being started"), std::string::npos);
  EXPECT_NE(ready(wanted)->cold_because, "");
  EXPECT_EQ(service.asked.size(), 1u) << "it is on its way";
  service.known[first->id].state = RuntimeState::kReady;
  EXPECT_EQ(ready(wanted)->cold_because, "");
  service.known[first->id].state = RuntimeState::kIdle;
  EXPECT_NE(ready(wanted)->cold_because, "");
  EXPECT_EQ(service.asked.size(), 2u) << "it is started again";
}

TEST_F(PackageSetTemplatesTest, AProjectsTemplateOfAnImageIsWaitedFor) {
  TemplateDefinition wanted;
  wanted.id = make_dynamic_template_id();
  wanted.from = "python";
  wanted.image = std::string(32, 'a');
  service.state = RuntimeState::kFailed;
  service.error = "execute python3: No such file or directory";
  EXPECT_EQ(ready(wanted)->cold_because, service.error);
  EXPECT_EQ(ready(wanted)->cold_because, service.error);
  EXPECT_EQ(service.asked.size(), 1u);
}

TEST_F(PackageSetTemplatesTest, NothingOfAnImageWaitsWithoutARuntime) {
  TemplateDefinition wanted;
  wanted.from = "base";
  wanted.image = std::string(32, 'a');
  service.runtime = RuntimeKind::kNone;
  service.state = RuntimeState::kIdle;
  EXPECT_EQ(ready(wanted)->cold_because, "");
  EXPECT_EQ(ready(wanted)->cold_because, "");
  EXPECT_EQ(service.asked.size(), 1u);
}

TEST_F(PackageSetTemplatesTest, AnIdleInterpreterIsStartedAgain) {
  auto first = ready(of('a'));
  ASSERT_TRUE(first);
  service.known[first->id].state = RuntimeState::kIdle;
  auto second = ready(of('a'));
  ASSERT_TRUE(second);
  EXPECT_EQ(service.asked.size(), 2u);
  EXPECT_EQ(second->cold_because, "");
}

TEST_F(PackageSetTemplatesTest, ARefusalOfALaterLauncherIsTriedAgain) {
  auto first = ready(of('a'));
  ASSERT_TRUE(first);
  service.later_refusals.emplace(first->id, Error(Errc::kNotFound, "layer: gone"));
  service.layers_gone.insert(std::string(32, 'a'));
  auto second = ready(of('a'));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Errc::kNotFound);
}

TEST_F(PackageSetTemplatesTest, WaitsForALauncherThatIsRestarted) {
  service.refusals.assign(3, Error(Errc::kUnavailable, "the launcher is not running"));
  ASSERT_TRUE(ready(of('a')));
  EXPECT_EQ(service.asked.size(), 4u);
}

TEST_F(PackageSetTemplatesTest, AnErrorLeavesNothing) {
  service.refusals = {Error(Errc::kPolicy, "no")};
  auto refused = ready(of('a'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kPolicy);
  EXPECT_EQ(templates().size(), 0u);
}

TEST_F(PackageSetTemplatesTest, ChoosesAnotherIdOnAConflict) {
  service.refusals = {Error(Errc::kConflict, "another server has one")};
  auto made_other = ready(of('a'));
  ASSERT_TRUE(made_other);
  EXPECT_NE(service.asked[0].id, made_other->id);
  EXPECT_EQ(templates().size(), 1u);
}

TEST_F(PackageSetTemplatesTest, EvictsTheLeastRecentlyUsedButNoneInUse) {
  options.most = 3;
  auto held = ready(of('a'));
  auto of_session = ready(of('b'));
  sessions.add(of_session->id);
  of_session->hold.reset();
  now += milliseconds(1);
  std::string third;
  {
    auto idle = ready(of('c'));
    third = idle->id;
  }
  now += milliseconds(1);
  auto fourth = ready(of('d'));
  ASSERT_TRUE(fourth) << fourth.error().message();
  EXPECT_EQ(service.forgotten, std::vector<std::string>{third});
  auto fifth = ready(of('e'));
  ASSERT_FALSE(fifth);
  EXPECT_EQ(fifth.error().code(), Errc::kResourceExhausted);
}

TEST_F(PackageSetTemplatesTest, LimitsTheTemplatesOfAProject) {
  options.most_of_a_project = 1;
  auto first = ready(of('a'));
  ASSERT_TRUE(first);
  EXPECT_FALSE(ready(of('b')));
  EXPECT_TRUE(ready(of('b'), "q"));
  const std::string id = first->id;
  first->hold.reset();
  EXPECT_TRUE(ready(of('b')));
  EXPECT_EQ(service.forgotten, std::vector<std::string>{id});
}

TEST_F(PackageSetTemplatesTest, LimitsNewTemplatesPerMinute) {
  options.most_new_in_a_minute = 2;
  ASSERT_TRUE(ready(of('a')));
  ASSERT_TRUE(ready(of('b')));
  auto third = ready(of('c'));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), Errc::kResourceExhausted);
  EXPECT_TRUE(ready(of('a'))) << "what is there is not new";
  EXPECT_TRUE(ready(of('c'), "q"));
  now += std::chrono::seconds(60);
  EXPECT_TRUE(ready(of('c')));
}

TEST_F(PackageSetTemplatesTest, MakesRoomInAFullLauncher) {
  std::string id;
  {
    auto idle = ready(of('a'));
    id = idle->id;
  }
  service.refusals = {Error(Errc::kResourceExhausted, "256 templates")};
  ASSERT_TRUE(ready(of('b')));
  EXPECT_EQ(service.forgotten, std::vector<std::string>{id});
}

TEST_F(PackageSetTemplatesTest, ForgetsIdleTemplates) {
  auto held = ready(of('a'));
  std::string idle_id;
  {
    auto idle = ready(of('b'));
    idle_id = idle->id;
  }
  templates().sweep();
  EXPECT_TRUE(service.forgotten.empty());
  now += options.idle + milliseconds(1);
  templates().sweep();
  EXPECT_EQ(service.forgotten, std::vector<std::string>{idle_id});
}

TEST_F(PackageSetTemplatesTest, ReleasesALayerOfIdleTemplates) {
  auto held = ready(of('a'));
  const std::string layer(32, 'a');
  EXPECT_EQ(templates().holds(layer), PackageSetTemplates::Holds::kBusy);
  EXPECT_EQ(templates().release(layer), 0u);
  held->hold.reset();
  EXPECT_EQ(templates().holds(layer), PackageSetTemplates::Holds::kIdle);
  EXPECT_TRUE(service.forgotten.empty());
  EXPECT_EQ(templates().release(layer), 1u);
  EXPECT_EQ(templates().holds(layer), PackageSetTemplates::Holds::kNone);
  EXPECT_EQ(service.forgotten, std::vector<std::string>{held->id});
}

TEST_F(PackageSetTemplatesTest, NeverForgetsAProjectsOwnTemplate) {
  TemplateDefinition own = of('a');
  own.id = make_dynamic_template_id();
  auto first = ready(own);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->id, own.id);
  first->hold.reset();
  EXPECT_EQ(templates().release(std::string(32, 'a')), 0u);
  // Resolved again: the same template of another layer.
  TemplateDefinition renewed = of('b');
  renewed.id = own.id;
  ASSERT_TRUE(ready(renewed));
  EXPECT_EQ(service.all[own.id].layers, renewed.layers);
  now += options.idle + milliseconds(1);
  templates().sweep();
  EXPECT_TRUE(service.forgotten.empty());
}

TEST_F(PackageSetTemplatesTest, AWaiterTriesAgainAfterARefusal) {
  service.refusals = {Error(Errc::kUnavailable, "not there"), Error(Errc::kPolicy, "no")};
  auto cancel = std::make_shared<node::CancelFlag>();
  auto one = start_task(io, templates().ready("p", of('a'), OnBuildProgress{}, cancel));
  auto two = start_task(io, templates().ready("p", of('a'), OnBuildProgress{}, cancel));
  run_until(io, [&] { return one->has_value() && two->has_value(); });
  EXPECT_FALSE(**one);
  ASSERT_TRUE(**two);
  EXPECT_EQ(templates().size(), 1u) << "and it is known";
}

TEST_F(PackageSetTemplatesTest, ConcurrentRequestsDefineItOnce) {
  service.state = RuntimeState::kStarting;
  options.ready_within = std::chrono::seconds(10);
  auto cancel = std::make_shared<node::CancelFlag>();
  std::vector<std::shared_ptr<std::optional<Result<PackageSetTemplates::Ready>>>> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(start_task(io, templates().ready("p", of('a'), OnBuildProgress{}, cancel)));
  }
  run_until(io, [this] { return service.asked.size() == 1; });
  service.known.begin()->second.state = RuntimeState::kReady;
  run_until(io, [&all] {
    return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->has_value(); });
  });
  EXPECT_EQ(service.asked.size(), 1u);
  for (const auto& one : all) EXPECT_TRUE(**one);
}

}  // namespace
}  // namespace glovebox::packages
