// The rows of a measurement: as a table, as JSON, and whether their targets (bars) are met.
#pragma once

#include <string>
#include <vector>

#include "bench/statistics.h"

namespace glovebox::bench {

// What is compared with the baseline: the median time, or the rate per second.
enum class Measure { kTime, kRate };

struct Bar {
  enum class Kind {
    kNone,
    kRatioAtMost,
    kRatioAtLeast,
    kP50AtMost,
    kP99AtMost,
    kAddedAtMost,     // that fraction of the baseline's p50, or kSmallMs if that is more
    kAddedMsAtMost,   // that many milliseconds more than the baseline's p50
    kP99RatioAtMost,  // p99 beside the baseline's p99
  };
  static constexpr double kSmallMs = 0.3;
  Kind kind = Kind::kNone;
  double value = 0;
  double tail = 0;   // if not 0: p99 is at most this many p50
  std::string text;  // for the table
};

struct Row {
  std::string name;
  std::string baseline;  // the row it is compared with; empty: none
  Measure measure = Measure::kTime;
  Bar bar;
  std::string skipped;        // why it was not measured; empty: it was
  unsigned least_rounds = 0;  // even if --rounds is smaller
  std::vector<Round> rounds;
};

Row make_row(std::string name, std::string baseline = "", Bar bar = {});
// `tail`, if not 0: p99 is at most this multiple of p50.
Bar ratio_at_most(double value, std::string text, double tail = 0);

enum class Verdict { kNone, kHeld, kMissed };

// This row's figure divided by its baseline's; 0 if one of the two is missing.
double ratio(const std::vector<Row>& rows, const Row& row);
double ratio_to(const std::vector<Row>& rows, const Row& row, const std::string& baseline);
// A bar that cannot be judged, because a baseline or a run is missing, is missed.
Verdict judge(const std::vector<Row>& rows, const Row& row);

std::string table_text(const std::vector<Row>& rows);
// The fields name, n, errors, p50_ms, p99_ms, per_second, baseline and ratio, and sometimes note.
// Rows that were skipped are left out.
std::string json_text(const std::vector<Row>& rows);
// One line for each missed bar and each row with errors.
std::string failed_checks(const std::vector<Row>& rows);

}  // namespace glovebox::bench
