// The sums by project, against what the tables have; and who gives when there is too much.
#include "store/sqlite/project_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sqlite/schema.h"
#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

MATCHER_P2(IsCut, project, amount, "") { return arg.project == project && arg.amount == amount; }

std::vector<ProjectCut> cuts(std::vector<std::uint64_t> sizes, std::uint64_t excess) {
  std::vector<ProjectUsage> usages;
  for (const std::uint64_t size : sizes) {
    usages.push_back(
        {.project = std::string(1, static_cast<char>('a' + usages.size())), .run_bytes = size});
  }
  const auto size = [](const ProjectUsage& usage) { return usage.run_bytes; };
  return cuts_from_largest(usages, excess, size, size);
}

TEST(CutsFromLargest, TheLargestGivesUntilItIsLevelWithTheNext) {
  EXPECT_THAT(cuts({10, 100, 30}, 0), IsEmpty());
  EXPECT_THAT(cuts({}, 5), IsEmpty());
  EXPECT_THAT(cuts({10, 100, 30}, 60), ElementsAre(IsCut("b", 60u)));
  EXPECT_THAT(cuts({10, 100, 30}, 70), ElementsAre(IsCut("b", 70u)));
  EXPECT_THAT(cuts({10, 100, 30}, 90), ElementsAre(IsCut("b", 80u), IsCut("c", 10u)));
  EXPECT_THAT(cuts({50, 50}, 10), UnorderedElementsAre(IsCut("a", 5u), IsCut("b", 5u)));
  // More than there is: everything.
  EXPECT_THAT(cuts({10, 20}, 100), ElementsAre(IsCut("b", 20u), IsCut("a", 10u)));
}

TEST(CutsFromLargest, OnlyWhoHasSomethingRemovableGives) {
  const std::vector<ProjectUsage> usages = {
      {.project = "a", .request_bytes = 100},
      {.project = "b", .run_bytes = 10, .request_bytes = 50},
      {.project = "c", .run_bytes = 40},
  };
  const auto made = cuts_from_largest(
      usages, 15, [](const ProjectUsage& usage) { return usage.bytes(); },
      [](const ProjectUsage& usage) { return usage.removable_bytes(); });
  EXPECT_THAT(made, ElementsAre(IsCut("b", 10u)));
}

class ProjectUsages : public StoreTest {
 protected:
  // Closes the store.
  void expect_sums_are_right() {
    store_.reset();
    Database db = std::move(open_database(options_.directory).value());
    ProjectUsageTable table(db);
    std::uint64_t runs = 0;
    const std::vector<ProjectUsage> usages = table.all().value();
    for (const ProjectUsage& usage : usages) {
      const std::string of = " WHERE project = '" + usage.project + "'";
      const auto number = [&](const std::string& sql) {
        return static_cast<std::uint64_t>(db.number("SELECT " + sql).value());
      };
      runs += usage.runs;
      EXPECT_EQ(usage.runs, number("count(*) FROM runs" + of));
      EXPECT_EQ(usage.run_bytes, number("sum(bytes) FROM runs" + of));
      EXPECT_EQ(usage.ended, number("count(*) FROM sessions" + of + " AND state >= 5"));
      EXPECT_EQ(usage.ended_bytes, number("sum(bytes) FROM sessions" + of + " AND state >= 5"));
      EXPECT_EQ(usage.living_bytes, number("sum(bytes) FROM sessions" + of + " AND state < 5"));
      EXPECT_EQ(usage.request_bytes, number("sum(bytes) FROM idempotency" + of));
      EXPECT_EQ(number("count(*) FROM idempotency" + of +
                       " AND state <> 2 AND bytes <> 300 + length(project) + 2 * length(key) + "
                       "length(body_sha256) + length(run_id) + length(route) + length(answer)"),
                0u);
      EXPECT_EQ(usage, table.of(usage.project).value());
    }
    EXPECT_EQ(runs, static_cast<std::uint64_t>(db.number("SELECT count(*) FROM runs").value()));
  }
};

TEST_F(ProjectUsages, AreWhatTheTablesHave) {
  std::atomic<std::int64_t> now_ms{1'700'000'000'000};
  options_.clock_ms = [&] { return now_ms.load(); };
  options_.retention = {.max_age = std::chrono::hours(48), .max_runs = 12, .max_disk_bytes = 0};
  open();
  for (int i = 0; i < 20; ++i) {
    const std::string project = i % 3 == 0 ? "one" : "two";
    const std::string key = "k" + std::to_string(i);
    RunRecord run = run_of(project);
    run.out = std::string(static_cast<std::size_t>(i) * 100, 'o');
    add(run);
    add(run);  // the same id again is left as it is
    ASSERT_TRUE(begin(key, "body", project));
    if (i % 4 == 0) {
      ASSERT_TRUE(finish(key, std::string(5000, 'a'), project));
    }
    if (i % 4 == 1) {
      ASSERT_TRUE(
          answer_of<void>([&](auto done) { store_->interrupt_idempotent(project, key, done); }));
    }
    if (i % 4 == 2) {
      ASSERT_TRUE(
          answer_of<void>([&](auto done) { store_->forget_idempotent(project, key, done); }));
    }
    SessionRecord session = add_session(session_of(project)).value();
    session.metadata["more"] = std::string(300, 'm');
    if (i % 5 != 0) {
      ASSERT_TRUE(save(session));
    }
    session.state = SessionState::kStopped;
    session.ended_ms = now_ms;
    if (i % 2 == 0) {
      ASSERT_TRUE(save(session));
    }
  }
  ASSERT_TRUE(gc());
  expect_sums_are_right();
  open();  // what ran is interrupted
  now_ms += 25ll * 3600 * 1000;
  ASSERT_TRUE(begin("k0", "body", "one"));  // in the place of one that has expired
  expect_sums_are_right();
  open();
  now_ms += 50ll * 3600 * 1000;
  ASSERT_TRUE(gc());
  expect_sums_are_right();
}

}  // namespace
}  // namespace glovebox::store
