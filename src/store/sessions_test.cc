// Sessions and snapshots in the store: what is put in comes out, what is over stays over, lists are
// filtered and paged, and the retention takes only what has ended.
#include <gmock/gmock.h>

#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Sessions : public StoreTest {
 protected:
  // Their times are from 1970.
  Sessions() { options_.retention.max_age = std::chrono::seconds(0); }
  SessionRecord add(SessionRecord session) {
    Result<SessionRecord> added = add_session(std::move(session));
    EXPECT_TRUE(added) << added.error().message();
    return std::move(*added);
  }
  Result<SessionRecord> find(const std::string& project, const SandboxId& id) {
    return find_session(project, id);
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
  // As its record is when it is over.
  static SessionRecord reduced(SessionRecord session) {
    session.env.clear();
    session.port_token = kEndedPortToken;
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

TEST_F(Sessions, EachPartOfTheirDependenciesComesBack) {
  open();
  std::vector<Dependencies> wanted(7);
  wanted[1].lock = "x\n[y]";
  wanted[2].requirements = "a";
  wanted[3].packages = {"a"};
  wanted[4].packages = {"a", "b"};
  wanted[4].preload = {"c", "d"};
  wanted[5].packages = wanted[6].packages = {"a"};
  wanted[5].host_packages = true;
  wanted[6].host_packages = false;
  for (const Dependencies& dependencies : wanted) {
    SessionRecord session = session_of("one");
    session.dependencies = dependencies;
    session = add(session);
    EXPECT_EQ(find("one", session.id)->dependencies, dependencies);
  }
}

TEST_F(Sessions, TheirProcessesLiveUnlessTheRecordSaysOtherwise) {
  const SessionRecord session{.id = SandboxId::make()};
  EXPECT_FALSE(session.paused_files_only);
  EXPECT_FALSE(SessionFilter{}.oldest_first);
}

TEST_F(Sessions, AListReadsABoundedNumberOfRowsAndGoesOnAtItsCursor) {
  open();
  SessionRecord wanted = session_of("one");
  wanted.metadata = {{"name", "wanted"}};
  const SandboxId oldest = ended(add(wanted), 1).id;
  for (int i = 0; i < 2500; ++i) ended(add(session_of("one")), 2 + i);
  const SessionFilter filter{.metadata = {{"name", "wanted"}}};
  const SessionPage first = page_of("one", filter).value();
  EXPECT_TRUE(first.sessions.empty());
  ASSERT_FALSE(first.next_cursor.empty());
  SessionFilter next = filter;
  next.cursor = first.next_cursor;
  const SessionPage second = page_of("one", next).value();
  ASSERT_EQ(second.sessions.size(), 1u);
  EXPECT_EQ(second.sessions[0].id, oldest);
  EXPECT_TRUE(second.next_cursor.empty());

  SessionFilter forwards = filter;
  forwards.oldest_first = true;
  const SessionPage found = page_of("one", forwards).value();
  ASSERT_EQ(found.sessions.size(), 1u);
  ASSERT_FALSE(found.next_cursor.empty());
  forwards.cursor = found.next_cursor;
  EXPECT_TRUE(page_of("one", forwards).value().sessions.empty());
}

TEST_F(Sessions, AListOfTheLivingReadsNoneThatIsOver) {
  open();
  const SandboxId living = add(session_of("one")).id;
  for (int i = 0; i < 2100; ++i) ended(add(session_of("one")), 2 + i);
  const SessionFilter filter{.states = {session_of("one").state}};
  EXPECT_THAT(ids("one", filter), ElementsAre(living));
  EXPECT_THAT(ids("*", filter), ElementsAre(living));
  EXPECT_TRUE(page_of("one", filter).value().next_cursor.empty());
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
  EXPECT_EQ(*find("one", session.id), reduced(session));
  EXPECT_THAT(*store_->living_sessions(), IsEmpty());
  session.state = SessionState::kRunning;
  EXPECT_EQ(save(session).error().code(), Errc::kConflict);
  EXPECT_EQ(find("one", session.id)->state, SessionState::kStopped);
  EXPECT_TRUE(store_->health().ok);  // that was the asker's mistake
}

TEST_F(Sessions, TheEnvironmentIsInTheFilesAsLongAsTheyLive) {
  open();
  std::vector<SessionRecord> sessions;
  // Short ones are in the pages of the table, long ones in pages of their own.
  for (const std::size_t size : {10u, 300u, 1000u, 4000u, 56'000u}) {
    SessionRecord session = session_of("one");
    const std::string name = "SECRET" + std::to_string(sessions.size());
    session.env.clear();
    while (pack_texts(session.env).size() < size) session.env.push_back(name + "=env-secret-text");
    session.port_token = "port-secret-text";
    sessions.push_back(add(std::move(session)));
  }
  const SessionRecord living = sessions.back();
  sessions.pop_back();
  for (const SessionRecord& session : sessions) {
    ASSERT_NE(files().find(session.env.front()), std::string::npos);
    ended(session, 5000);
  }
  // Nothing else happens: the log is emptied although no other work wakes the store.
  for (const SessionRecord& session : sessions) {
    EXPECT_TRUE(eventually([&] { return files().find(session.env.front()) == std::string::npos; }));
    const Result<SessionRecord> found = find("one", session.id);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_THAT(found->env, IsEmpty());
  }
  EXPECT_NE(files().find(living.env.front()), std::string::npos);
  ended(living, 6000);
  EXPECT_TRUE(eventually([&] {
    const std::string content = files();
    return content.find("env-secret-text") == std::string::npos &&
           content.find("port-secret-text") == std::string::npos;
  }));
}

TEST_F(Sessions, KeepSomeOfTheirMetadataWhenTheyAreOver) {
  open();
  SessionRecord session = session_of("one");
  session.metadata = {{"user", "ada"}, {"short", "s"}};
  for (int i = 0; i < 60; ++i)
    session.metadata["long" + std::to_string(i)] = std::string(4000, 'x');
  session = add(std::move(session));
  EXPECT_EQ(find("one", session.id)->metadata.size(), 62u);
  ended(session, 5000);
  const Result<SessionRecord> found = find("one", session.id);
  ASSERT_TRUE(found) << found.error().message();
  const Metadata& kept = found->metadata;
  EXPECT_EQ(kept.at("user"), "ada");
  EXPECT_EQ(kept.at("short"), "s");
  EXPECT_EQ(kept.size(), 3u);  // and one of the long ones fits
  EXPECT_LE(pack_metadata(kept).size(), kMaxEndedMetadataBytes + 100);
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
  many.metadata.assign(8, {"a", "1"});
  EXPECT_TRUE(page_of("one", many));
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

TEST_F(Sessions, PlacedPagesAreInAnyOrderAndSayHowManyThereAre) {
  open();
  SessionRecord one = session_of("p", "python");
  one.name = "zebra";
  one.expires_ms = 3;
  SessionRecord two = session_of("p", "base");
  two.name = "apple";
  two.expires_ms = 9;
  SessionRecord three = session_of("p", "node");
  three.name = "mango";
  three.expires_ms = 6;
  const SandboxId a = add(one).id;
  const SandboxId b = add(two).id;
  const SandboxId c = add(three).id;
  add(session_of("other"));
  const auto sorted = [&](SessionSort sort, bool ascending) {
    return ids("p", {.oldest_first = ascending, .offset = 0, .sort = sort});
  };
  EXPECT_EQ(sorted(SessionSort::kName, true), (std::vector{b, c, a}));
  EXPECT_EQ(sorted(SessionSort::kName, false), (std::vector{a, c, b}));
  EXPECT_EQ(sorted(SessionSort::kExpires, true), (std::vector{a, c, b}));
  EXPECT_EQ(sorted(SessionSort::kTemplate, true), (std::vector{b, c, a}));
  EXPECT_EQ(sorted(SessionSort::kCreated, true), (std::vector{a, b, c}));
  EXPECT_EQ(sorted(SessionSort::kCreated, false), (std::vector{c, b, a}));
  const SessionPage page =
      page_of("p", {.oldest_first = true, .limit = 1, .offset = 1, .sort = SessionSort::kName})
          .value();
  ASSERT_EQ(page.sessions.size(), 1u);
  EXPECT_EQ(page.sessions[0].id, c);
  EXPECT_EQ(page.total, 3u);
  EXPECT_FALSE(page.is_total_bounded);
  EXPECT_EQ(page_of("*", {.offset = 0}).value().total, 4u);
}

TEST_F(Sessions, AreFoundByAPartOfTheirWords) {
  open();
  SessionRecord one = session_of("p", "python");
  one.name = "zebra";
  one.agent_id = "Agent-7";
  one.metadata = {{"owner", "Ada Lovelace"}, {"x", "100%"}};
  SessionRecord two = session_of("p", "base");
  two.agent_id = "other";
  two.metadata = {};
  const SandboxId a = add(one).id;
  const SandboxId b = add(two).id;
  for (const char* part : {"zebra", "agent-7", "lovelace", "owner", "100%", "ython"}) {
    EXPECT_EQ(ids("p", {.search = part}), std::vector{a}) << part;
    EXPECT_EQ(page_of("p", {.search = part, .offset = 0}).value().total, 1u) << part;
  }
  EXPECT_EQ(ids("p", {.search = b.str().substr(4)}), std::vector{b});
  EXPECT_EQ(ids("p", {.search = "ada%"}), std::vector<SandboxId>{});
  EXPECT_EQ(ids("elsewhere", {.search = "zebra"}), std::vector<SandboxId>{});
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
  EXPECT_TRUE(page_of("one", {.limit = 200}));
  EXPECT_TRUE(page_of("one", {.limit = 1}));
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
