// Sessions and snapshots in the store: what is put in comes out, what is over stays over, lists are
// filtered and paged, and the retention takes only what has ended.
#include <gmock/gmock.h>

#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SessionRecord session_of(std::string project, std::string template_name = "python") {
  SessionRecord session{.id = SandboxId::make(),
                        .project = std::move(project),
                        .key_id = "ky1",
                        .template_name = std::move(template_name),
                        .snapshot = "sn1",
                        .reason = "why",
                        .agent_id = "agent",
                        .metadata = {{"a", "1"}, {"b", ""}, {"", "empty key"}, {"c", "\x01x"}},
                        .env = {"A=1", "B="},
                        .on_timeout = OnTimeout::kPause,
                        .ttl_s = 60,
                        .created_ms = 1000,
                        .expires_ms = 61'000,
                        .walls = WallSet(7),
                        .profile = "abcd",
                        .port_token = "secret",
                        .net = "\"https-only\"",
                        .dependencies = {.packages = {"a", "b>=2"},
                                         .requirements = "c==1\n# ü",
                                         .lock = "",
                                         .preload = {"a"}},
                        .layer = std::string(32, 'f')};
  session.limits.memory_bytes = 123 << 20;
  session.limits.mark_asked_for(LimitKind::kMemory);
  return session;
}

class Sessions : public StoreTest {
 protected:
  SessionRecord add(SessionRecord session) {
    const auto seq =
        answer_of<std::int64_t>([&](auto done) { store_->add_session(session, done); });
    EXPECT_TRUE(seq) << seq.error().message();
    session.seq = seq.value_or(0);
    return session;
  }
  Result<> save(const SessionRecord& session) {
    return answer_of<void>([&](auto done) { store_->save_session(session, done); });
  }
  Result<SessionRecord> find(const std::string& project, const SandboxId& id) {
    return answer_of<SessionRecord>([&](auto done) { store_->get_session(project, id, done); });
  }
  Result<SessionPage> page_of(const std::string& project, const SessionFilter& filter) {
    return answer_of<SessionPage>([&](auto done) { store_->list_sessions(project, filter, done); });
  }
  std::vector<SandboxId> ids(const std::string& project, const SessionFilter& filter = {}) {
    auto page = page_of(project, filter);
    EXPECT_TRUE(page) << page.error().message();
    std::vector<SandboxId> found;
    for (const SessionRecord& session : page->sessions) found.push_back(session.id);
    return found;
  }
  SessionRecord ended(SessionRecord session, std::int64_t at) {
    session.state = SessionState::kStopped;
    session.ended_ms = at;
    EXPECT_TRUE(save(session));
    return session;
  }
};

TEST_F(Sessions, ComeBackAsTheyWerePutIn) {
  open();
  const SessionRecord session = add(session_of("one"));
  open();  // another server
  EXPECT_EQ(*find("one", session.id), session);
  EXPECT_EQ(*find("*", session.id), session);
  EXPECT_EQ(find("two", session.id).error().code(), Errc::kNotFound);
  EXPECT_THAT(*store_->living_sessions(), ElementsAre(session));
}

TEST_F(Sessions, ThatAreOverStayOver) {
  open();
  SessionRecord session = add(session_of("one"));
  session.state = SessionState::kPaused;
  session.metadata = {{"new", "1"}};
  session.ttl_s = 5;
  ASSERT_TRUE(save(session));
  EXPECT_EQ(*find("one", session.id), session);
  session = ended(session, 5000);
  EXPECT_EQ(*find("one", session.id), session);
  EXPECT_THAT(*store_->living_sessions(), IsEmpty());
  session.state = SessionState::kRunning;
  EXPECT_EQ(save(session).error().code(), Errc::kConflict);
  EXPECT_EQ(find("one", session.id)->state, SessionState::kStopped);
  EXPECT_TRUE(store_->health().ok);  // that was the asker's mistake
}

TEST_F(Sessions, AreFilteredByStateTemplateAgentAndMetadata) {
  open();
  SessionRecord other = session_of("one", "base");
  other.agent_id = "x";
  other.metadata = {{"a", "2"}, {"1", "b"}};
  const SessionRecord first = add(session_of("one"));
  const SessionRecord second = add(other);
  const SessionRecord third = ended(add(session_of("one")), 5000);
  add(session_of("two"));

  EXPECT_THAT(ids("one"), ElementsAre(third.id, second.id, first.id));
  EXPECT_EQ(ids("*").size(), 4u);
  EXPECT_THAT(ids("one", {.states = {SessionState::kRunning}}), ElementsAre(second.id, first.id));
  EXPECT_THAT(ids("one", {.states = {SessionState::kStopped, SessionState::kError}}),
              ElementsAre(third.id));
  EXPECT_THAT(ids("one", {.template_name = "base"}), ElementsAre(second.id));
  EXPECT_THAT(ids("one", {.agent_id = "x"}), ElementsAre(second.id));
  EXPECT_THAT(ids("one", {.metadata = {{"a", "1"}}}), ElementsAre(third.id, first.id));
  EXPECT_THAT(ids("one", {.metadata = {{"a", "1"}, {"b", ""}}}), ElementsAre(third.id, first.id));
  EXPECT_THAT(ids("one", {.metadata = {{"a", "1"}, {"b", "x"}}}), IsEmpty());
  EXPECT_THAT(ids("one", {.oldest_first = true}), ElementsAre(first.id, second.id, third.id));
  EXPECT_THAT(ids("one", {.created_from_ms = INT64_MAX}), IsEmpty());
  EXPECT_EQ(ids("one", {.created_from_ms = first.created_ms}).size(), 3u);
  EXPECT_THAT(ids("one", {.created_from_ms = first.created_ms + 1}), IsEmpty());
  EXPECT_THAT(ids("one", {.snapshot = "snaaaaaaaaaaaaaaaaaaaa"}), IsEmpty());
  // A value is not a key, a part is not the whole.
  EXPECT_THAT(ids("one", {.metadata = {{"1", "b"}}}), ElementsAre(second.id));
  EXPECT_THAT(ids("one", {.metadata = {{"2", "1"}}}), IsEmpty());
  EXPECT_THAT(ids("one", {.metadata = {{"c", "x"}}}), IsEmpty());
  EXPECT_THAT(ids("one", {.metadata = {{"c", "\x01x"}}}), ElementsAre(third.id, first.id));
  SessionFilter many;
  many.metadata.assign(9, {"a", "1"});
  EXPECT_EQ(page_of("one", many).error().code(), Errc::kInvalidArgument);
}

TEST_F(Sessions, PagesGoOnInEitherOrder) {
  open();
  std::vector<SandboxId> all;
  for (int i = 0; i < 5; ++i) all.push_back(add(session_of("one")).id);
  auto page = page_of("one", {.oldest_first = true, .limit = 2});
  std::vector<SandboxId> seen;
  while (page) {
    for (const SessionRecord& session : page->sessions) seen.push_back(session.id);
    if (page->next_cursor.empty()) break;
    page = page_of("one", {.oldest_first = true, .limit = 2, .cursor = page->next_cursor});
  }
  ASSERT_TRUE(page);
  EXPECT_EQ(seen, all);
}

TEST_F(Sessions, PagesDoNotShiftWhenSessionsAreAdded) {
  open();
  std::vector<SandboxId> all;
  for (int i = 0; i < 5; ++i) all.insert(all.begin(), add(session_of("one")).id);
  auto page = page_of("one", {.limit = 2});
  ASSERT_TRUE(page);
  ASSERT_FALSE(page->next_cursor.empty());
  std::vector<SandboxId> seen;
  while (true) {
    for (const SessionRecord& session : page->sessions) seen.push_back(session.id);
    if (page->next_cursor.empty()) break;
    add(session_of("one"));
    page = page_of("one", {.limit = 2, .cursor = page->next_cursor});
    ASSERT_TRUE(page);
  }
  EXPECT_EQ(seen, all);
  for (const char* bad : {"x", "s1", "s1000000000000000G", "s10000000000000000",
                          "s1-000000000000001", "S10000000000000001"}) {
    EXPECT_EQ(page_of("one", {.cursor = bad}).error().code(), Errc::kInvalidArgument) << bad;
  }
  EXPECT_EQ(page_of("one", {.limit = 0}).error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(page_of("one", {.limit = 201}).error().code(), Errc::kInvalidArgument);
}

TEST_F(Sessions, RetentionTakesOnlyTheEnded) {
  std::int64_t now_ms = 10'000'000;
  options_.clock_ms = [&] { return now_ms; };
  options_.retention.max_age = std::chrono::seconds(1000);
  options_.retention.max_runs = 3;
  open();
  const SessionRecord living = add(session_of("one"));
  ended(add(session_of("one")), now_ms - 1'000'001);
  const SessionRecord young = ended(add(session_of("one")), now_ms - 900'000);
  ASSERT_TRUE(gc());
  EXPECT_THAT(ids("one"), ElementsAre(young.id, living.id));
  for (int i = 0; i < 3; ++i) ended(add(session_of("one")), now_ms - 1000 + i);
  ASSERT_TRUE(gc());
  EXPECT_EQ(ids("one").size(), 4u);
  EXPECT_EQ(find("one", young.id).error().code(), Errc::kNotFound);
  EXPECT_TRUE(find("one", living.id));
}

TEST_F(Sessions, SnapshotsAreKeptUntilTheyAreRemoved) {
  open();
  const SnapshotRecord snapshot{.project = "one",
                                .name = "mine",
                                .sandbox = "sb1",
                                .template_name = "base",
                                .bytes = 1ull << 33,
                                .files = 5,
                                .created_ms = 77,
                                .layer = std::string(32, 'a')};
  ASSERT_TRUE(answer_of<void>([&](auto done) { store_->add_snapshot(snapshot, done); }));
  open();
  EXPECT_THAT(*store_->all_snapshots(), ElementsAre(snapshot));
  const std::string other(32, 'b');
  const auto set = [&] {
    return answer_of<void>(
        [&](auto done) { store_->set_snapshot_layer(snapshot.id, other, done); });
  };
  ASSERT_TRUE(set());
  SnapshotRecord changed = snapshot;
  changed.layer = other;
  EXPECT_THAT(*store_->all_snapshots(), ElementsAre(changed));
  ASSERT_TRUE(answer_of<void>([&](auto done) { store_->remove_snapshot(snapshot.id, done); }));
  EXPECT_THAT(*store_->all_snapshots(), IsEmpty());
  const auto again =
      answer_of<void>([&](auto done) { store_->remove_snapshot(snapshot.id, done); });
  EXPECT_EQ(again.error().code(), Errc::kNotFound);
  EXPECT_EQ(set().error().code(), Errc::kNotFound);
}

}  // namespace
}  // namespace glovebox::store
