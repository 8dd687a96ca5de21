// The rows of a run: a table for people, an array of objects for programs, and whether the bars of
// design section 10 hold.
#pragma once

#include <string>
#include <vector>

#include "client/bench/statistics.h"

namespace glovebox::bench {

// What is compared with the baseline: the median time, or how many in a second.
enum class Measure { kTime, kRate };

struct Bar {
  enum class Kind {
    kNone,
    kRatioAtMost,
    kRatioAtLeast,
    kP50AtMost,
    kP99AtMost,
    kAddedAtMost,     // that much of the baseline's p50, or kSmallMs, whichever is more
    kAddedMsAtMost,   // so many milliseconds to the baseline's p50
    kP99RatioAtMost,  // p99 beside the baseline's p99
  };
  static constexpr double kSmallMs = 0.3;
  Kind kind = Kind::kNone;
  double value = 0;
  double tail = 0;   // if not 0: p99 is at most this many p50
  std::string text;  // as people read it
};

struct Row {
  std::string name;
  std::string baseline;  // the row it is compared with; empty: none
  Measure measure = Measure::kTime;
  Bar bar;
  std::string skipped;        // why it is not here
  unsigned least_rounds = 0;  // even when fewer were asked for
  std::vector<Round> rounds;
};

// A row that was not measured yet.
Row make_row(std::string name, std::string baseline = "", Bar bar = {});
Bar ratio_at_most(double value, std::string text);

enum class Verdict { kNone, kHeld, kMissed };

// This row's figure over its baseline's; 0 where one of the two is missing.
double ratio(const std::vector<Row>& rows, const Row& row);
double ratio_to(const std::vector<Row>& rows, const Row& row, const std::string& baseline);
// A bar that cannot be judged, for want of a baseline or of a run, is missed.
Verdict judge(const std::vector<Row>& rows, const Row& row);

std::string table_text(const std::vector<Row>& rows);
// Exactly: name, n, errors, p50_ms, p99_ms, per_second, baseline, ratio; and note, where there is
// more to say. What is not here is left out.
std::string json_text(const std::vector<Row>& rows);
// One line for each bar that is missed and each row with errors.
std::string complaints(const std::vector<Row>& rows);

}  // namespace glovebox::bench
