// Layers as the server sees them: asked of the launcher, and answered or refused by it.
#include "node/testing/session_fixture.h"

namespace glovebox::node {
namespace {

class LayersTest : public SessionTest {
 protected:
  static LayerRecord record(char digit = 'a') {
    LayerRecord one;
    one.id = std::string(kLayerIdSize, digit);
    one.bytes = 5000;
    one.entries = 7;
    one.digest = std::string(64, '0');
    one.made_ms = 1'700'000'000'000;
    one.note = "{\"of\":\"a test\"}";
    return one;
  }
  LayerService& layers() { return node->layers(); }
};

TEST_F(LayersTest, AreKeptListedNotedAndDropped) {
  begin_base();
  const LayerRecord first = record('a');
  const LayerRecord second = record('b');
  ASSERT_TRUE(await(layers().keep_layer(first)).has_value());
  ASSERT_TRUE(await(layers().keep_layer(second)).has_value());
  ASSERT_TRUE(await(layers().note_layer(second.id, "other words")).has_value());
  const auto listed = await(layers().list_layers());
  ASSERT_TRUE(listed.has_value());
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ((*listed)[0], first);
  EXPECT_EQ((*listed)[1].note, "other words");
  ASSERT_TRUE(await(layers().drop_layer(first.id)).has_value());
  EXPECT_EQ(await(layers().list_layers())->size(), 1u);
  EXPECT_EQ(await(layers().drop_layer(first.id)).error().code(), Errc::kNotFound);
}

TEST_F(LayersTest, ThatAreInUseAreAConflict) {
  begin_base();
  ASSERT_TRUE(await(layers().keep_layer(record())).has_value());
  launcher.refuses_layers = wire::SandboxRefused{0, Errc::kConflict, 0, "it is in use"};
  const Result<> dropped = await(layers().drop_layer(record().id));
  ASSERT_FALSE(dropped.has_value());
  EXPECT_EQ(dropped.error().code(), Errc::kConflict);
  EXPECT_EQ(dropped.error().message(), "it is in use");
}

TEST_F(LayersTest, AreListedOnceAtATime) {
  begin_base();
  ASSERT_TRUE(await(layers().keep_layer(record())).has_value());
  launcher.holds_lists = true;
  std::vector<std::shared_ptr<std::optional<Result<std::vector<LayerRecord>>>>> lists;
  for (int i = 0; i < 3; ++i) lists.push_back(spawn(layers().list_layers()));
  for (int i = 1; i <= 3; ++i) {
    until([&] { return launcher.lists == i; });
    settle();
    EXPECT_EQ(launcher.lists, i) << "the launcher refuses a second list";
    launcher.release_list();
  }
  for (const auto& list : lists) {
    until([&] { return list->has_value(); });
    ASSERT_TRUE((*list)->has_value()) << (*list)->error().message();
    EXPECT_EQ((**list)->size(), 1u);
  }
}

TEST_F(LayersTest, WithoutALauncherThereAreNone) {
  node = std::make_unique<Node>(io, options);
  EXPECT_EQ(await(layers().list_layers()).error().code(), Errc::kUnavailable);
  EXPECT_EQ(await(layers().keep_layer(record())).error().code(), Errc::kUnavailable);
}

TEST_F(LayersTest, WhatTheWireCannotCarryIsNotSent) {
  begin_base();
  LayerRecord wordy = record();
  wordy.note.assign(kMaxLayerNote + 1, 'x');
  EXPECT_EQ(await(layers().keep_layer(wordy)).error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(await(layers().drop_layer("../../etc")).error().code(), Errc::kInvalidArgument);
  EXPECT_TRUE(node->figures().launcher_up);
}

TEST_F(LayersTest, ALostLauncherFailsPendingCalls) {
  begin_base();
  auto listing = spawn(layers().list_layers());
  launcher.die();
  until([&] { return listing->has_value(); });
  EXPECT_EQ((*listing)->error().code(), Errc::kUnavailable);
}

// Sandboxes of builds are invisible to all other callers.
class BuildSessionsTest : public LayersTest {
 protected:
  std::shared_ptr<Session> make_build() {
    SessionSpec wanted = spec();
    wanted.is_build = true;
    auto session = await(service().create_session(wanted, nullptr));
    EXPECT_TRUE(session.has_value()) << session.error().message();
    return std::move(*session);
  }
};

TEST_F(BuildSessionsTest, AreNotListedAndTheirEndIsNotReported) {
  begin_base();
  const auto build = make_build();
  const auto other = make();
  EXPECT_EQ(service().sessions(), std::vector<SandboxId>{other->id()});
  EXPECT_EQ(service().find_session(build->id()), build);
  ASSERT_TRUE(await(service().destroy_session(build->id())).has_value());
  ASSERT_TRUE(await(service().destroy_session(other->id())).has_value());
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].id, other->id());
}

TEST_F(BuildSessionsTest, EndWithTheServerThatStops) {
  begin_base();
  const auto build = make_build();
  const auto other = make();
  bool drained = false;
  boost::asio::co_spawn(io, node->drain(Clock::now()), [&](std::exception_ptr) { drained = true; });
  until([&] { return drained && launcher.alive.size() == 1; });
  EXPECT_TRUE(launcher.alive.contains(other->id().str()));
  EXPECT_FALSE(build->alive());
}

TEST_F(BuildSessionsTest, OfAServerThatDiedAreListedForCleanUp) {
  begin_base();
  const auto build = make_build();
  // As after kill -9: nothing was said to the launcher.
  launcher.cut_off();
  restart_server();
  until([&] { return service().adopted(); });
  EXPECT_EQ(service().sessions(), std::vector<SandboxId>{build->id()});
}

}  // namespace
}  // namespace glovebox::node
