#include "store/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

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

}  // namespace
}  // namespace glovebox::store
