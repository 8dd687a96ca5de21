#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace glovebox::bench::cold {
namespace {

double per_second(const Row& row) {
  const double total_ms =
      std::accumulate(row.times.begin(), row.times.end(), 0.0,
                      [](double sum, Milliseconds one) { return sum + one.count(); });
  return total_ms > 0 ? 1000.0 * static_cast<double>(row.times.size()) / total_ms : 0;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

double percentile_ms(const Row& row, double fraction) {
  if (row.times.empty()) return 0;
  std::vector<Milliseconds> sorted = row.times;
  std::sort(sorted.begin(), sorted.end());
  // Nearest rank: the smallest time that `fraction` of all are not above.
  const double rank = std::ceil(fraction * static_cast<double>(sorted.size()));
  const auto at = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(at, sorted.size() - 1)].count();
}

const Row* find_row(const std::vector<Row>& rows, const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found != rows.end() ? &*found : nullptr;
}

double ratio(const std::vector<Row>& rows, const Row& row) {
  const Row* base = row.baseline.empty() ? nullptr : find_row(rows, row.baseline);
  if (base == nullptr || base->times.empty() || row.times.empty()) return 0;
  return percentile_ms(row, 0.5) / percentile_ms(*base, 0.5);
}

void print_table(const std::vector<Row>& rows) {
  std::printf("%-28s %5s %6s %9s %9s %10s %-13s %6s\n", "name", "n", "errors", "p50_ms", "p99_ms",
              "per_second", "baseline", "ratio");
  for (const Row& row : rows) {
    if (!row.skipped.empty()) {
      std::printf("%-28s skipped: %s\n", row.name.c_str(), first_line(row.skipped).c_str());
      continue;
    }
    std::printf("%-28s %5zu %6u %9.3f %9.3f %10.1f %-13s ", row.name.c_str(), row.times.size(),
                row.errors, percentile_ms(row, 0.5), percentile_ms(row, 0.99), per_second(row),
                row.baseline.empty() ? "-" : row.baseline.c_str());
    const double over = ratio(rows, row);
    std::printf(over > 0 ? "%6.2f\n" : "     -\n", over);
  }
}

void print_json(const std::vector<Row>& rows) {
  std::printf("[");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    std::printf(
        "%s\n  {\"name\":%s,\"n\":%zu,\"errors\":%u,\"p50_ms\":%.4f,\"p99_ms\":%.4f,"
        "\"per_second\":%.2f,\"baseline\":%s,",
        i == 0 ? "" : ",", quoted(row.name).c_str(), row.times.size(), row.errors,
        percentile_ms(row, 0.5), percentile_ms(row, 0.99), per_second(row),
        row.baseline.empty() ? "null" : quoted(row.baseline).c_str());
    const double over = ratio(rows, row);
    if (over > 0) {
      std::printf("\"ratio\":%.4f", over);
    } else {
      std::printf("\"ratio\":null");
    }
    if (!row.skipped.empty())
      std::printf(",\"skipped\":%s", quoted(first_line(row.skipped)).c_str());
    std::printf("}");
  }
  std::printf("\n]\n");
}

}  // namespace glovebox::bench::cold
