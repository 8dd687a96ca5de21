// Sessions as a whole: made, counted, ended, paused, taken over by the server after us.
#include "node/testing/session_fixture.h"

namespace glovebox::node {
namespace {

using wire::Stream;

TEST_F(SessionTest, IsMadeCountedAndEndedWhenAsked) {
  begin_base();
  const auto session = make();
  EXPECT_EQ(service().find_session(session->id()), session);
  EXPECT_EQ(service().sessions().size(), 1u);
  EXPECT_EQ(node->figures().sandboxes_alive, 1u);
  EXPECT_EQ(node->figures().memory_committed_bytes, (512ull + 256ull) << 20);
  EXPECT_TRUE(await(service().destroy_session(session->id())).has_value());
  EXPECT_FALSE(session->alive());
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_TRUE(ended[0].was_asked);
  EXPECT_EQ(ended[0].reason, EndReason::kDestroyed);
  EXPECT_EQ(service().find_session(session->id()), nullptr);
  EXPECT_EQ(node->figures().sandboxes_alive, 0u);
  EXPECT_EQ(node->figures().memory_committed_bytes, 0u);
  EXPECT_EQ(await(service().destroy_session(session->id())).error().code(), Errc::kNotFound);
}

TEST_F(SessionTest, SeveralArePromisedTheSameMemory) {
  options.session_overcommit = 4;
  begin_base();
  const auto session = make();
  EXPECT_EQ(node->figures().memory_committed_bytes, ((512ull + 256ull) << 20) / 4);
}

TEST_F(SessionTest, PushesOutWhatOnlyWaits) {
  options.max_sandboxes = 2;
  begin({status_of("base", RuntimeKind::kNone, 2, 2)});
  fill("base", 2);
  const auto session = make();
  EXPECT_EQ(pool("base").idle, 1u);
  EXPECT_TRUE(session->alive());
}

TEST_F(SessionTest, WaitsForRoomAndIsRefusedAsARunIs) {
  options.max_sandboxes = 1;
  begin_base();
  const auto first = make();
  auto second = spawn(service().create_session(spec(), nullptr));
  settle();
  EXPECT_FALSE(second->has_value());
  EXPECT_TRUE(await(service().destroy_session(first->id())).has_value());
  until([&] { return second->has_value(); });
  EXPECT_TRUE((*second)->has_value());
  auto third = spawn(service().create_session(spec(), nullptr));
  settle();
  now += options.queue_wait;
  until([&] { return third->has_value(); });
  EXPECT_EQ((*third)->error().code(), Errc::kResourceExhausted);
}

TEST_F(SessionTest, OfATemplateThatIsNotThereIsNotFound) {
  begin_base();
  SessionSpec wanted = spec();
  wanted.template_name = "nowhere";
  now += seconds(2);  // every template has been told of
  EXPECT_EQ(await(service().create_session(wanted, nullptr)).error().code(), Errc::kNotFound);
}

TEST_F(SessionTest, WithWeakerWallsThanAskedForIsRefusedAndEnded) {
  begin_base();
  SessionSpec wanted = spec();
  wanted.min_grade = Grade::kJail;
  EXPECT_EQ(await(service().create_session(wanted, nullptr)).error().code(), Errc::kPolicy);
  until([&] { return launcher.alive.empty(); });
  EXPECT_TRUE(ended.empty());  // it had not been announced
}

TEST_F(SessionTest, ThatHasToBePausedIsRefusedWhereItCannotBe) {
  begin_base();
  SessionSpec wanted = spec();
  wanted.must_pause = true;
  EXPECT_EQ(await(service().create_session(wanted, nullptr)).error().code(), Errc::kUnsupported);
  until([&] { return launcher.alive.empty(); });
  launcher.walls.add(Wall::kFreezer);
  EXPECT_TRUE(await(service().create_session(wanted, nullptr)).has_value());
}

TEST_F(SessionTest, ThatDoesNotAnswerIsEnded) {
  options.agent_wait = milliseconds(20);
  begin_base();
  launcher.silent_agents = true;
  EXPECT_EQ(await(service().create_session(spec(), nullptr)).error().code(), Errc::kUnavailable);
  until([&] { return launcher.alive.empty() && node->figures().sandboxes_alive == 0; });
  EXPECT_TRUE(ended.empty());
}

TEST_F(SessionTest, WhoseCreationIsCancelledIsEnded) {
  begin_base();
  launcher.holds_creates = true;
  const auto cancel = std::make_shared<CancelFlag>();
  auto making = spawn(service().create_session(spec(), cancel));
  settle();
  cancel->cancel();
  until([&] { return making->has_value(); });
  EXPECT_FALSE((*making)->has_value());
  launcher.release_creates();
  until([&] { return launcher.destroyed == 1; });
}

TEST_F(SessionTest, IsPausedResumedAndMeasured) {
  begin_base();
  const auto session = make();
  const std::string id = session->id().str();
  EXPECT_TRUE(await(service().pause_session(session->id())).has_value());
  EXPECT_TRUE(launcher.frozen(id));
  EXPECT_TRUE(session->paused());
  EXPECT_TRUE(await(service().pause_session(session->id())).has_value());
  EXPECT_TRUE(await(service().resume_session(session->id())).has_value());
  EXPECT_FALSE(launcher.frozen(id));
  EXPECT_FALSE(session->paused());
  const auto usage = await(service().measure_session(session->id())).value();
  EXPECT_EQ(usage.memory_bytes, 4096u);
  EXPECT_EQ(usage.peak_memory_bytes, 8192u);
  EXPECT_EQ(usage.processes, 3u);
  EXPECT_EQ(await(service().measure_session(SandboxId::make())).error().code(), Errc::kNotFound);
}

TEST_F(SessionTest, EndsWithItsLauncherAndTheNextOneHasNone) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  EXPECT_EQ(adoptions, 1);
  launcher.die();
  until([&] { return !ended.empty(); });
  EXPECT_TRUE(ended[0].launcher_lost);
  EXPECT_FALSE(ended[0].was_asked);
  EXPECT_FALSE(session->alive());
  EXPECT_EQ(node->figures().memory_committed_bytes, 0u);
  attach();
  until([&] { return adoptions == 2; });
  EXPECT_TRUE(service().sessions().empty());
  EXPECT_TRUE(make()->alive());
}

TEST_F(SessionTest, LivesOnWhenTheServerStops) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  bool drained = false;
  boost::asio::co_spawn(io, node->drain(Clock::now()), [&](std::exception_ptr) { drained = true; });
  until([&] { return drained; });
  EXPECT_TRUE(std::holds_alternative<Attachment::Gone>(next(*started.attachment)));
  EXPECT_FALSE(await(service().create_session(spec(), nullptr)).has_value());
  node.reset();
  settle();
  EXPECT_EQ(launcher.alive.size(), 1u);
  EXPECT_EQ(launcher.destroyed, 0);
  EXPECT_TRUE(ended.empty());
}

// ---- the server after us ----------------------------------------------------------------------

TEST_F(SessionTest, IsTakenOverWithNothingLostAndNothingRepeated) {
  begin_base();
  const SandboxId id = make()->id();
  FakeAgent& its_agent = launcher.session_agent(id.str());
  std::string got;
  {
    const auto session = service().find_session(id);
    ASSERT_NE(session, nullptr);
    auto started = start(*session);
    its_agent.print(1, Stream::kStdout, 0, "one ");
    got += text(*started.attachment);
    EXPECT_TRUE(await(session->write_input(1, Stream::kStdin, "")).has_value());
    // Sent, and never read by the server that is killed now.
    restart_server();
    its_agent.print(1, Stream::kStdout, 4, "two ");
  }
  its_agent.say(wire::ProcessExited{8, {}, {}, {}, {}});  // and other things for that server
  wire::ProcessStatus is;
  is.process = 1;
  is.pid = 77;
  is.label = "the label";
  is.out = {0, 8};
  is.input_taken = 500;
  its_agent.processes[1] = is;
  until([&] { return service().adopted(); });
  EXPECT_EQ(adoptions, 1);
  EXPECT_EQ(node->figures().memory_committed_bytes, (512ull + 256ull) << 20);
  const auto session = service().find_session(id);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->template_name(), "base");
  EXPECT_EQ(session->find_process(1)->label, "the label");
  auto again = await(session->attach(1, {.out = got.size()})).value();
  until([&] { return its_agent.all<wire::Subscribe>().size() == 2; });
  EXPECT_EQ(its_agent.all<wire::Subscribe>()[0].offset, 4u);
  its_agent.print(1, Stream::kStdout, 4, "two ");
  its_agent.print(1, Stream::kStdout, 8, "three");
  while (got.size() < 13) got += text(*again);
  EXPECT_EQ(got, "one two three");
  // Input goes on where it was, and numbers are new.
  its_agent.seen.clear();
  auto writing = spawn(session->write_input(1, Stream::kStdin, "more"));
  until([&] { return !its_agent.all<wire::Input>().empty(); });
  EXPECT_EQ(its_agent.all<wire::Input>()[0].offset, 500u);
  until([&] { return writing->has_value(); });
  EXPECT_GT(start(*session).info.number, 1000u);
}

TEST_F(SessionTest, ManyAreTakenOver) {
  begin_base();
  std::vector<SandboxId> ids;
  for (int i = 0; i < 50; ++i) ids.push_back(make()->id());
  restart_server();
  until([&] { return service().adopted(); });
  EXPECT_EQ(service().sessions().size(), ids.size());
  for (const SandboxId& id : ids) EXPECT_TRUE(service().find_session(id)->alive());
  EXPECT_TRUE(await(service().destroy_session(ids[7])).has_value());
  EXPECT_EQ(service().sessions().size(), ids.size() - 1);
}

TEST_F(SessionTest, IsCountedAlsoWhenItDoesNotFit) {
  begin_base();
  for (int i = 0; i < 3; ++i) make();
  options.max_sandboxes = 2;
  options.max_memory_bytes = 1 << 30;
  restart_server();
  until([&] { return service().adopted(); });
  EXPECT_EQ(service().sessions().size(), 3u);
  auto more = spawn(service().create_session(spec(), nullptr));
  settle();
  EXPECT_FALSE(more->has_value());
  now += options.queue_wait;
  until([&] { return more->has_value(); });
  EXPECT_EQ((*more)->error().code(), Errc::kResourceExhausted);
}

TEST_F(SessionTest, CountsForItsProjectAfterARestart) {
  options.max_sandboxes = 4;
  options.owner_share_percent = 75;
  begin_base();
  std::vector<SandboxId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(make()->id());
  restart_server();
  until([&] { return service().adopted(); });
  for (const SandboxId& id : ids) {
    service().find_session(id)->set_owner("greedy");
    service().find_session(id)->set_owner("another");  // it has one
  }
  SessionSpec wanted = spec();
  wanted.owner = "greedy";
  auto more = spawn(service().create_session(wanted, nullptr));
  settle();
  EXPECT_FALSE(more->has_value());
  wanted.owner = "another";
  auto of_another = spawn(service().create_session(wanted, nullptr));
  until([&] { return of_another->has_value(); });
  EXPECT_TRUE((*of_another)->has_value());
  now += options.queue_wait;
  until([&] { return more->has_value(); });
  EXPECT_EQ((*more)->error().code(), Errc::kResourceExhausted);
}

TEST_F(SessionTest, ThatDoesNotAnswerTheNextServerIsEnded) {
  options.agent_wait = milliseconds(30);
  begin_base();
  const SandboxId good = make()->id();
  const SandboxId bad = make()->id();
  launcher.session_agent(bad.str()).silent = true;
  restart_server();
  until([&] { return service().adopted(); });
  EXPECT_NE(service().find_session(good), nullptr);
  EXPECT_EQ(service().find_session(bad), nullptr);
  until([&] { return launcher.alive.size() == 1; });
}

TEST_F(SessionTest, ThatIsFrozenIsTakenOverPausedAndGreetedWhenItGoesOn) {
  options.agent_wait = milliseconds(30);
  begin_base();
  const SandboxId id = make()->id();
  launcher.freeze(id.str(), true);
  FakeAgent& its_agent = launcher.session_agent(id.str());
  its_agent.silent = true;
  restart_server();
  until([&] { return service().adopted(); });
  const auto session = service().find_session(id);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->paused());
  EXPECT_EQ(await(session->start(program(), Session::Attach::kNo)).error().code(), Errc::kConflict);
  its_agent.silent = false;
  EXPECT_TRUE(await(service().resume_session(id)).has_value());
  EXPECT_FALSE(session->paused());
  EXPECT_TRUE(start(*session).info.number > 0);
}

TEST_F(SessionTest, AnswersToTheServerBeforeAreNotTakenForOurs) {
  begin_base();
  const SandboxId id = make()->id();
  FakeAgent& its_agent = launcher.session_agent(id.str());
  wire::ProcessStatus is;
  is.process = 5;
  its_agent.say(is);  // what the server before was to be told when it was killed
  its_agent.say(wire::Welcome{12345});
  node.reset();
  settle();
  node = std::make_unique<Node>(io, options);
  listen();
  node->attach_launcher(launcher.connect_again());
  until([&] { return service().adopted(); });
  EXPECT_TRUE(service().find_session(id)->processes().empty());
}

TEST_F(SessionTest, ALauncherThatGoesWhileWeTakeOverLeavesNothing) {
  begin_base();
  const SandboxId id = make()->id();
  launcher.session_agent(id.str()).silent = true;
  restart_server();
  settle();
  EXPECT_FALSE(service().adopted());
  launcher.die();
  settle();
  EXPECT_EQ(node->figures().sandboxes_alive, 0u);
  attach();
  until([&] { return service().adopted(); });
  EXPECT_TRUE(service().sessions().empty());
}

}  // namespace
}  // namespace glovebox::node
