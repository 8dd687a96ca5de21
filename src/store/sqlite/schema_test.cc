#include "store/sqlite/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "store/clock.h"
#include "store/sqlite/project_usage.h"
#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

using ::testing::HasSubstr;

constexpr Migration kOne[] = {{"one", "CREATE TABLE t(a INTEGER); INSERT INTO t VALUES(7)"}};
constexpr Migration kTwo[] = {kOne[0], {"two", "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 9"}};
constexpr Migration kBroken[] = {kOne[0], {"bad", "UPDATE t SET a = 8; CREATE TABEL x(y)"}};

class Schema : public ::testing::Test {
 protected:
  Result<Database> open() { return open_database(directory_.path() + "/store"); }
  TempDir directory_;
};

TEST_F(Schema, StepsAreTakenOnceAndKeepTheData) {
  Database db = std::move(open().value());
  ASSERT_TRUE(migrate(db, kOne, 1));
  ASSERT_TRUE(migrate(db, kOne, 2));
  ASSERT_TRUE(migrate(db, kTwo, 3));
  EXPECT_EQ(db.number("SELECT count(*) FROM t").value(), 1);
  EXPECT_EQ(db.number("SELECT a + b FROM t").value(), 16);
  EXPECT_EQ(db.number("SELECT max(version) FROM schema_version").value(), 2);
}

TEST_F(Schema, ABrokenStepChangesNothing) {
  Database db = std::move(open().value());
  ASSERT_TRUE(migrate(db, kOne, 1));
  const Result<> done = migrate(db, kBroken, 2);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("schema 2"));
  EXPECT_EQ(db.number("SELECT a FROM t").value(), 7);
  EXPECT_EQ(db.number("SELECT max(version) FROM schema_version").value(), 1);
}

TEST_F(Schema, ANewerOneIsRefused) {
  Database db = std::move(open().value());
  ASSERT_TRUE(migrate(db, kTwo, 1));
  const Result<> done = migrate(db, kOne, 2);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Errc::kUnsupported);
  EXPECT_THAT(done.error().message(), HasSubstr("newer"));
}

TEST_F(Schema, SettingsAreOurs) {
  Database db = std::move(open().value());
  EXPECT_EQ(db.number("PRAGMA foreign_keys").value(), 1);
  EXPECT_EQ(db.number("PRAGMA synchronous").value(), 1);
  EXPECT_EQ(db.number("PRAGMA auto_vacuum").value(), 2);
  Statement mode = std::move(db.prepare("PRAGMA journal_mode").value());
  ASSERT_TRUE(mode.next().value());
  EXPECT_EQ(mode.text(0), "wal");
}

TEST_F(Schema, AnFsyncTransactionSetsTheLevelAndSetsItBack) {
  Database db = std::move(open().value());
  {
    Transaction transaction = std::move(Transaction::begin(db, Durability::kFsync).value());
    EXPECT_EQ(db.number("PRAGMA synchronous").value(), 2);
    EXPECT_TRUE(transaction.commit());
  }
  EXPECT_EQ(db.number("PRAGMA synchronous").value(), 1);
}

TEST_F(Schema, AnotherProgramsDatabaseIsLeftAlone) {
  const std::string directory = directory_.path() + "/store";
  std::filesystem::create_directory(directory);
  {
    Database other = std::move(Database::open(database_path(directory)).value());
    ASSERT_TRUE(other.exec("CREATE TABLE theirs(a)"));
  }
  const auto content = [&] {
    std::ifstream in(database_path(directory), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string before = content();
  const Result<Database> opened = open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("another program"));
  EXPECT_TRUE(content() == before);
}

TEST_F(Schema, ALinkInThePlaceOfTheFileIsNotFollowed) {
  const std::string directory = directory_.path() + "/store";
  std::filesystem::create_directory(directory);
  std::filesystem::create_symlink(directory_.path() + "/target", database_path(directory));
  EXPECT_FALSE(open());
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/target"));
}

TEST_F(Schema, ALinkAboveItIsTheAdministratorsBusiness) {
  std::filesystem::create_directory(directory_.path() + "/real");
  std::filesystem::create_symlink(directory_.path() + "/real", directory_.path() + "/store");
  EXPECT_TRUE(open());
}

// A database as the previous version left it, with what this version promises to take over.
class Upgrade : public StoreTest {
 protected:
  static constexpr std::size_t kBefore = 5;

  void make_old() {
    Database db = std::move(open_database(options_.directory).value());
    ASSERT_TRUE(migrate(db, migrations().first(kBefore), 1));
    const auto exec = [&](const std::string& sql) {
      const Result<> done = db.exec(sql);
      ASSERT_TRUE(done) << done.error().message();
    };
    const std::string columns =
        "(id, project, key_id, template, snapshot, state, reason, agent_id, metadata, env, "
        "on_timeout, ttl_s, created_ms, expires_ms, ended_ms, engine, walls, memory_bytes, "
        "disk_bytes, disk_inodes, pids, cpu_thousandths, limits_asked_for, profile, port_token) ";
    const auto session = [&](const SandboxId& id, SessionState state, const std::string& env,
                             const std::string& metadata) {
      exec("INSERT INTO sessions" + columns + "VALUES('" + id.str() + "', 'one', 'k', 't', '', " +
           std::to_string(static_cast<int>(state)) + ", '', '', " + metadata + ", CAST('" + env +
           "' AS BLOB), 0, 1, 1, 1, 5, 0, 0, 1, 1, 1, 1, 1, 0, '', 'token')");
    };
    session(living_, SessionState::kRunning, "LIVES=here", "x'00'");
    session(ended_, SessionState::kStopped, "ENDED=" + std::string(20'000, 'e'), "zeroblob(5000)");
    exec("INSERT INTO runs VALUES(1, '" + RunId::make().str() +
         "', 'one', '', '', '', '', '', 1, 1, 1, 0, 0, 0, NULL, 0, '', '', '', '', 0, 700)");
    exec("INSERT INTO run_bodies VALUES(1, x'', x'', x'')");
    exec("INSERT INTO idempotency VALUES('one', 'k', 'body', 3, 200, 'rn1', " +
         std::to_string(wall_clock_ms()) + ", 0, CAST('the answer' AS BLOB))");
    exec(
        "INSERT INTO snapshots(id, project, name, sandbox, template, bytes, files, created_ms) "
        "VALUES('sn', 'two', '', '', '', 1, 1, 1)");
  }
  const SandboxId living_ = SandboxId::make();
  const SandboxId ended_ = SandboxId::make();
};

TEST_F(Upgrade, FromTheVersionBeforeUsageWasCounted) {
  make_old();
  ASSERT_NE(files().find("ENDED=eee"), std::string::npos);
  options_.retention.max_age = std::chrono::seconds(0);  // the records are from 1970
  open();
  // Of the session that had ended there is no environment any more, in any file.
  EXPECT_EQ(files().find("ENDED=eee"), std::string::npos);
  EXPECT_NE(files().find("LIVES=here"), std::string::npos);
  const SessionRecord ended = find_session("one", ended_).value();
  EXPECT_TRUE(ended.env.empty());
  EXPECT_TRUE(ended.metadata.empty());
  EXPECT_EQ(ended.port_token, kEndedPortToken);
  const SessionRecord living = find_session("one", living_).value();
  EXPECT_EQ(living.env, std::vector<std::string>{"LIVES=here"});
  EXPECT_EQ(living.port_token, "token");
  // A request that was answered before the upgrade is answered after it, whatever its route was.
  EXPECT_EQ(begin("k", "body", "one").value().answer, "the answer");
  EXPECT_EQ(begin("k", "other", "one").value().state, IdempotentState::kMismatch);
  store_.reset();

  Database db = std::move(open_database(options_.directory).value());
  EXPECT_EQ(db.number("SELECT max(version) FROM schema_version").value(),
            static_cast<std::int64_t>(migrations().size()));
  ProjectUsageTable usages(db);
  const ProjectUsage one = usages.of("one").value();
  EXPECT_EQ(one.runs, 1u);
  EXPECT_EQ(one.run_bytes, 700u);
  EXPECT_EQ(one.ended, 1u);
  EXPECT_GT(one.ended_bytes, 600u);
  EXPECT_LT(one.ended_bytes, 1000u);
  EXPECT_GT(one.living_bytes, 600u);
  EXPECT_EQ(one.request_bytes, 300u + 3 + 2 + 4 + 3 + 10);
  EXPECT_EQ(usages.of("two").value().definition_bytes, 500u);
}

}  // namespace
}  // namespace glovebox::store
