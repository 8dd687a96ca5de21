#include "bench/report.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdarg>
#include <cstdio>

#include "base/utf8.h"
#include "client/output/print.h"

namespace glovebox::bench {
namespace {

__attribute__((format(printf, 1, 2))) std::string formatted(const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return text;
}

const Row* find_row(const std::vector<Row>& rows, const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found != rows.end() ? &*found : nullptr;
}

double figure_of(const Row& row) {
  const Figures figures = figures_of(row.rounds);
  return row.measure == Measure::kTime ? figures.p50_ms : figures.per_second;
}

std::string ratio_text(double over) {
  if (over <= 0) return "-";
  return over < 0.7 ? formatted("1/%.1f", 1 / over) : formatted("%.2f", over);
}

// The note of the last round that has one.
std::string note_of(const Row& row) {
  for (auto round = row.rounds.rbegin(); round != row.rounds.rend(); ++round) {
    if (!round->note.empty()) return round->note;
  }
  return "";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string verdict_text(const std::vector<Row>& rows, const Row& row) {
  switch (judge(rows, row)) {
    case Verdict::kNone:
      return "";
    case Verdict::kHeld:
      return "held";
    case Verdict::kMissed:
      return "MISSED";
  }
  return "";
}

// The first row of Glovebox with a bar on its time, for the sentences about other baselines.
std::string other_baselines(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& other : rows) {
    if (!other.name.starts_with("runc") && !other.name.starts_with("docker")) continue;
    for (const Row& row : rows) {
      if (row.baseline != other.baseline || row.measure != other.measure || &row == &other)
        continue;
      if (row.name.starts_with("runc") || row.name.starts_with("docker")) continue;
      const double over = ratio_to(rows, row, other.name);
      if (over > 0) {
        text += row.name + " takes " + ratio_text(over) + " of " + other.name + "\n";
      }
    }
  }
  return text;
}

}  // namespace

double ratio_to(const std::vector<Row>& rows, const Row& row, const std::string& baseline) {
  const Row* base = baseline.empty() ? nullptr : find_row(rows, baseline);
  if (base == nullptr || !base->skipped.empty() || !row.skipped.empty()) return 0;
  const double below = row.measure == Measure::kTime ? figures_of(base->rounds).p50_ms
                                                     : figures_of(base->rounds).per_second;
  return below > 0 ? figure_of(row) / below : 0;
}

Row make_row(std::string name, std::string baseline, Bar bar) {
  Row row;
  row.name = std::move(name);
  row.baseline = std::move(baseline);
  row.bar = std::move(bar);
  return row;
}

Bar ratio_at_most(double value, std::string text, double tail) {
  return {.kind = Bar::Kind::kRatioAtMost, .value = value, .tail = tail, .text = std::move(text)};
}

double ratio(const std::vector<Row>& rows, const Row& row) {
  return ratio_to(rows, row, row.baseline);
}

Verdict judge(const std::vector<Row>& rows, const Row& row) {
  if (row.bar.kind == Bar::Kind::kNone) return Verdict::kNone;
  const Figures figures = figures_of(row.rounds);
  const double over = ratio(rows, row);
  bool held = row.skipped.empty() && figures.n > 0 && figures.errors == 0;
  switch (row.bar.kind) {
    case Bar::Kind::kNone:
      break;
    case Bar::Kind::kRatioAtMost:
      held = held && over > 0 && over <= row.bar.value;
      break;
    case Bar::Kind::kRatioAtLeast:
      held = held && over >= row.bar.value;
      break;
    case Bar::Kind::kP50AtMost:
      held = held && figures.p50_ms <= row.bar.value;
      break;
    case Bar::Kind::kP99AtMost:
      held = held && figures.p99_ms <= row.bar.value;
      break;
    case Bar::Kind::kAddedAtMost: {
      const double base = over > 0 ? figures.p50_ms / over : 0;
      held = held && over > 0 &&
             figures.p50_ms - base <= std::max(row.bar.value * base, Bar::kSmallMs);
      break;
    }
    case Bar::Kind::kAddedMsAtMost: {
      const double base = over > 0 ? figures.p50_ms / over : 0;
      held = held && over > 0 && figures.p50_ms - base <= row.bar.value;
      break;
    }
    case Bar::Kind::kP99RatioAtMost: {
      const Row* base = find_row(rows, row.baseline);
      const double tail = base != nullptr ? figures_of(base->rounds).p99_ms : 0;
      held = held && over > 0 && figures.p99_ms <= row.bar.value * tail;
      break;
    }
  }
  if (row.bar.tail > 0) held = held && figures.p99_ms <= row.bar.tail * figures.p50_ms;
  return held ? Verdict::kHeld : Verdict::kMissed;
}

std::string table_text(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"name", "n", "errors", "p50 ms", "p99 ms", "per second", "baseline", "ratio", "bar", ""}};
  std::string absent;
  std::string notes;
  for (const Row& row : rows) {
    if (!row.skipped.empty()) {
      absent += printable(row.name + ": not available (" + first_line(row.skipped) + ")") + "\n";
      continue;
    }
    const Figures figures = figures_of(row.rounds);
    cells.push_back({row.name, std::to_string(figures.n), std::to_string(figures.errors),
                     formatted("%.3f", figures.p50_ms), formatted("%.3f", figures.p99_ms),
                     formatted("%.1f", figures.per_second),
                     row.baseline.empty() ? "-" : row.baseline, ratio_text(ratio(rows, row)),
                     row.bar.text.empty() ? "-" : row.bar.text, verdict_text(rows, row)});
    if (const std::string note = note_of(row); !note.empty()) {
      notes += printable(row.name + ": " + first_line(note)) + "\n";
    }
  }
  return client::table(cells) + other_baselines(rows) + notes + absent;
}

std::string json_text(const std::vector<Row>& rows) {
  std::string text = "[";
  for (const Row& row : rows) {
    if (!row.skipped.empty()) continue;
    const Figures figures = figures_of(row.rounds);
    const double over = ratio(rows, row);
    // The names need no JSON escapes.
    text += text.size() > 1 ? ",\n  " : "\n  ";
    text += "{\"name\":\"" + row.name + "\",\"n\":" + std::to_string(figures.n) +
            ",\"errors\":" + std::to_string(figures.errors) +
            formatted(",\"p50_ms\":%.4f,\"p99_ms\":%.4f,\"per_second\":%.2f", figures.p50_ms,
                      figures.p99_ms, figures.per_second);
    text += ",\"baseline\":" + (row.baseline.empty() ? "null" : "\"" + row.baseline + "\"");
    text += over > 0 ? formatted(",\"ratio\":%.5f", over) : ",\"ratio\":null";
    if (const std::string note = note_of(row); !note.empty()) {
      text += ",\"note\":" + boost::json::serialize(boost::json::string(printable(note)));
    }
    text += "}";
  }
  return text + "\n]\n";
}

std::string failed_checks(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    if (judge(rows, row) == Verdict::kMissed) {
      const Figures figures = figures_of(row.rounds);
      text += "missed: " + row.name + ": " + row.bar.text;
      text += row.skipped.empty()
                  ? formatted("; ratio %s, p50 %.3f ms, p99 %.3f ms",
                              ratio_text(ratio(rows, row)).c_str(), figures.p50_ms, figures.p99_ms)
                  : "; not available: " + printable(first_line(row.skipped));
      text += "\n";
    }
    const std::uint64_t errors = figures_of(row.rounds).errors;
    if (errors > 0) {
      text += "missed: " + row.name + ": " + std::to_string(errors) + " calls failed\n";
    }
  }
  return text;
}

}  // namespace glovebox::bench
