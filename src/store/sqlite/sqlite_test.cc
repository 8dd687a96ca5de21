// The wrapper around SQLite: errors, values and transactions.
#include "store/sqlite/sqlite.h"

#include <gtest/gtest.h>

#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

class SqliteTest : public ::testing::Test {
 protected:
  Database open() { return std::move(Database::open(dir_.path() + "/db").value()); }
  TempDir dir_;
};

TEST_F(SqliteTest, WhatCannotBeOpenedOrReadIsAnError) {
  EXPECT_EQ(Database::open(dir_.path() + "/missing/db").error().code(), Errc::kPermissionDenied);
  Database db = open();
  EXPECT_EQ(db.exec("nonsense").error().code(), Errc::kInternal);
  EXPECT_FALSE(db.prepare("SELECT x FROM nowhere"));
  EXPECT_FALSE(db.number("SELECT x FROM nowhere"));
  ASSERT_TRUE(db.exec("CREATE TABLE t(a INTEGER NOT NULL)"));
  Statement insert = std::move(db.prepare("INSERT INTO t(a) VALUES(?)").value());
  EXPECT_FALSE(insert.bind(std::optional<std::int64_t>()).run());
  EXPECT_TRUE(insert.bind(std::int64_t{7}).run()) << "it can be used again";
  EXPECT_EQ(db.changes(), 1);
}

TEST_F(SqliteTest, RowsEndOnce) {
  Database db = open();
  ASSERT_TRUE(db.exec("CREATE TABLE t(a); INSERT INTO t VALUES(1),(2)"));
  Statement select = std::move(db.prepare("SELECT a FROM t ORDER BY a").value());
  EXPECT_TRUE(select.next().value());
  EXPECT_EQ(select.integer(0), 1);
  EXPECT_TRUE(select.next().value());
  EXPECT_FALSE(select.next().value());
  EXPECT_EQ(db.number("SELECT a FROM t WHERE a > 5").value(), 0);
}

TEST_F(SqliteTest, ValuesComeBackAsTheyWere) {
  Database db = open();
  const std::string bytes("a\0b", 3);
  Statement select = std::move(db.prepare("SELECT ?, ?, ?, ?, ?").value());
  ASSERT_TRUE(
      select.bind(Blob{bytes}, bytes, std::string_view(), std::optional<std::string>(), UINT32_MAX)
          .next()
          .value());
  EXPECT_EQ(select.text(0), bytes);
  EXPECT_EQ(select.text(1), bytes);
  EXPECT_EQ(select.text(2), "");
  EXPECT_FALSE(select.is_null(2));
  EXPECT_EQ(select.text(3), "");
  EXPECT_TRUE(select.is_null(3));
  EXPECT_EQ(select.integer(4), UINT32_MAX);
}

TEST_F(SqliteTest, ATransactionThatIsNotCommittedDidNothing) {
  Database db = open();
  ASSERT_TRUE(db.exec("CREATE TABLE t(a)"));
  for (const Durability durability : {Durability::kBatch, Durability::kFsync}) {
    {
      const auto begun = Transaction::begin(db, durability);
      ASSERT_TRUE(begun);
      EXPECT_FALSE(Transaction::begin(db, durability)) << "one at a time";
    }
    {
      const auto begun = Transaction::begin(db, durability);
      ASSERT_TRUE(begun);
      EXPECT_TRUE(db.in_transaction());
      ASSERT_TRUE(db.exec("INSERT INTO t VALUES(1)"));
    }
    EXPECT_FALSE(db.in_transaction());
    EXPECT_EQ(db.number("SELECT count(*) FROM t").value(), 0);
  }
  auto begun = Transaction::begin(db, Durability::kFsync);
  ASSERT_TRUE(begun);
  EXPECT_EQ(db.number("PRAGMA synchronous").value(), 2);
  ASSERT_TRUE(db.exec("INSERT INTO t VALUES(1)"));
  {
    Transaction moved = std::move(*begun);
    EXPECT_TRUE(moved.commit());
  }
  EXPECT_EQ(db.number("PRAGMA synchronous").value(), 1) << "only for that one";
  EXPECT_EQ(db.number("SELECT count(*) FROM t").value(), 1);
}

TEST_F(SqliteTest, OneOfSeveralTextsMayHaveThePart) {
  Database db = open();
  const auto has = [&](const char* arguments) {
    return db.number("SELECT has_text(" + std::string(arguments) + ")").value();
  };
  EXPECT_EQ(has("'b', 'a', 'abc', 'x'"), 1);
  EXPECT_EQ(has("'b', 'a', 'x', 'cb'"), 1);
  EXPECT_EQ(has("'b', 'a', 'x'"), 0);
  EXPECT_EQ(has("'b', NULL, ''"), 0);
  EXPECT_EQ(has("'b'"), 0);
}

}  // namespace
}  // namespace glovebox::store
