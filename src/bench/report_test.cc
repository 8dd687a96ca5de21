#include "bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Row row(const std::string& name, const std::string& baseline, std::vector<double> ms,
        Bar bar = {}) {
  Row made;
  made.name = name;
  made.baseline = baseline;
  made.bar = std::move(bar);
  const std::uint64_t runs = ms.size();
  made.rounds.push_back({.ms = std::move(ms), .runs = runs, .errors = 0, .seconds = 0, .note = {}});
  return made;
}
Bar at_most(double value, double tail = 0) {
  return {.kind = Bar::Kind::kRatioAtMost, .value = value, .tail = tail, .text = "at most"};
}

TEST(Report, TimesAndRatesAreComparedWithTheirBaselines) {
  std::vector<Row> rows = {row("bwrap", "", {20, 20}), row("warm", "bwrap", {2, 2})};
  EXPECT_DOUBLE_EQ(ratio(rows, rows[1]), 0.1);
  rows[1].measure = Measure::kRate;
  EXPECT_DOUBLE_EQ(ratio(rows, rows[1]), 10);
  EXPECT_EQ(ratio(rows, rows[0]), 0);
}

TEST(Report, ABarIsHeldExactlyAtItsValue) {
  std::vector<Row> rows = {row("bwrap", "", {20}), row("warm", "bwrap", {2}, at_most(0.1))};
  EXPECT_EQ(judge(rows, rows[0]), Verdict::kNone);
  EXPECT_EQ(judge(rows, rows[1]), Verdict::kHeld);
  rows[1].bar.value = 0.099;
  EXPECT_EQ(judge(rows, rows[1]), Verdict::kMissed);
}

TEST(Report, ATailThatIsTooLongMissesTheBar) {
  std::vector<Row> rows = {row("bwrap", "", {20}),
                           row("warm", "bwrap", {1, 1, 6}, at_most(0.1, 5))};
  EXPECT_EQ(judge(rows, rows[1]), Verdict::kMissed);
  rows[1].bar.tail = 6;
  EXPECT_EQ(judge(rows, rows[1]), Verdict::kHeld);
}

TEST(Report, ARowWithoutABaselineOrWithErrorsIsMissed) {
  std::vector<Row> rows = {row("bwrap", "", {20}), row("warm", "bwrap", {1}, at_most(0.1))};
  rows[1].rounds[0].errors = 1;
  EXPECT_EQ(judge(rows, rows[1]), Verdict::kMissed);
  EXPECT_THAT(failed_checks(rows), HasSubstr("1 calls failed"));
  rows[1].rounds[0].errors = 0;
  rows[0].skipped = "not installed";
  EXPECT_EQ(judge(rows, rows[1]), Verdict::kMissed);
}

TEST(Report, AddedTimeIsAFractionOrAMinimum) {
  const Bar bar{.kind = Bar::Kind::kAddedAtMost, .value = 0.15, .tail = 0, .text = "+15%"};
  const auto verdict = [&](double base, double ours) {
    const std::vector<Row> rows = {row("v1", "", {base}), row("e2b", "v1", {ours}, bar)};
    return judge(rows, rows[1]);
  };
  EXPECT_EQ(verdict(1, 1.29), Verdict::kHeld);  // 0.3 ms is more than 15 % of it
  EXPECT_EQ(verdict(1, 1.31), Verdict::kMissed);
  EXPECT_EQ(verdict(10, 11.4), Verdict::kHeld);
  EXPECT_EQ(verdict(10, 11.6), Verdict::kMissed);
  EXPECT_EQ(verdict(10, 2), Verdict::kHeld);
}

TEST(Report, AddedTimeCanBeAbsolute) {
  const Bar bar{.kind = Bar::Kind::kAddedMsAtMost, .value = 2, .tail = 0, .text = "+2 ms"};
  const auto verdict = [&](double base, double ours) {
    const std::vector<Row> rows = {row("direct", "", {base}), row("net", "direct", {ours}, bar)};
    return judge(rows, rows[1]);
  };
  EXPECT_EQ(verdict(1, 3), Verdict::kHeld);
  EXPECT_EQ(verdict(1, 3.1), Verdict::kMissed);
  EXPECT_EQ(verdict(100, 102), Verdict::kHeld);
  EXPECT_EQ(verdict(0, 1), Verdict::kMissed);  // nothing to compare with
}

TEST(Report, TailsAreComparedWithTails) {
  const Bar bar{.kind = Bar::Kind::kP99RatioAtMost, .value = 2, .tail = 0, .text = "p99 <= 2"};
  const auto verdict = [&](std::vector<double> ours) {
    const std::vector<Row> rows = {row("quiet", "", {1, 1, 4}), row("loud", "quiet", ours, bar)};
    return judge(rows, rows[1]);
  };
  EXPECT_EQ(verdict({3, 3, 8}), Verdict::kHeld);
  EXPECT_EQ(verdict({1, 1, 8.1}), Verdict::kMissed);
  const std::vector<Row> alone = {row("loud", "quiet", {1}, bar)};
  EXPECT_EQ(judge(alone, alone[0]), Verdict::kMissed);
}

TEST(Report, PrintsAndEscapesTheLastNote) {
  std::vector<Row> rows = {row("relays", "", {1})};
  EXPECT_FALSE(boost::json::parse(json_text(rows)).at(0).as_object().contains("note"));
  rows[0].rounds.push_back({.ms = {1}, .runs = 1, .errors = 0, .seconds = 0, .note = "a \"b\""});
  rows[0].rounds.push_back({.ms = {1}, .runs = 1, .errors = 0, .seconds = 0, .note = ""});
  EXPECT_EQ(boost::json::parse(json_text(rows)).at(0).at("note").as_string(), "a \"b\"");
  EXPECT_THAT(table_text(rows), HasSubstr("relays: a \"b\"\n"));
}

TEST(Report, JsonHasExactlyTheDocumentedFields) {
  std::vector<Row> rows = {row("bwrap", "", {20}), row("warm", "bwrap", {2})};
  rows.push_back(row("docker", "bwrap", {}));
  rows.back().skipped = "no daemon";
  const boost::json::array list = boost::json::parse(json_text(rows)).as_array();
  ASSERT_EQ(list.size(), 2u);
  std::string names;
  for (const auto& field : list[1].as_object()) names += std::string(field.key()) + " ";
  EXPECT_EQ(names, "name n errors p50_ms p99_ms per_second baseline ratio ");
  EXPECT_TRUE(list[0].at("baseline").is_null());
  EXPECT_TRUE(list[0].at("ratio").is_null());
  EXPECT_DOUBLE_EQ(list[1].at("ratio").as_double(), 0.1);
}

TEST(Report, TheTableShowsSkippedRowsAndComparisons) {
  std::vector<Row> rows = {row("bwrap", "", {20}), row("warm", "bwrap", {2}, at_most(0.1)),
                           row("runc", "bwrap", {100})};
  rows.push_back(row("docker", "bwrap", {}));
  rows.back().skipped = "no daemon\nmore";
  const std::string text = table_text(rows);
  EXPECT_THAT(text, HasSubstr("1/10.0"));
  EXPECT_THAT(text, HasSubstr("held"));
  EXPECT_THAT(text, HasSubstr("warm takes 1/50.0 of runc"));
  EXPECT_THAT(text, HasSubstr("docker: not available (no daemon)"));
  EXPECT_THAT(text, Not(HasSubstr("more")));
}

}  // namespace
}  // namespace glovebox::bench
