// Counters of a server's runs and answers. api/metrics_text.h writes them for Prometheus.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runs/activity.h"
#include "store/run_record.h"

namespace glovebox::runs {

class Histogram {
 public:
  // Upper bounds in microseconds; one more bucket counts all larger values.
  static constexpr std::array<std::int64_t, 16> kBounds = {
      250,     500,     1'000,   2'000,     5'000,     10'000,    25'000,     50'000,
      100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 30'000'000};
  using Buckets = std::array<std::uint64_t, kBounds.size() + 1>;

  void add(std::chrono::microseconds time);
  const Buckets& buckets() const { return buckets_; }
  std::uint64_t count() const { return count_; }
  std::int64_t sum_us() const { return sum_us_; }

 private:
  Buckets buckets_{};
  std::uint64_t count_ = 0;
  std::int64_t sum_us_ = 0;
};

enum class Phase : std::uint8_t { kQueue, kSetup, kRun, kTotal, kCount };

struct Metrics {
  void count_run(store::RunStatus status, bool warm);
  void count_phase(Phase phase, std::chrono::microseconds time);
  // `code` is one of our own error codes.
  void count_refusal(std::string_view code, const std::string& project) {
    ++refusals[std::string(code)];
    activity.count_refusal(project);
  }
  void count_answer(int status) { ++answers[status / 100]; }

  std::array<std::uint64_t, 8> runs{};  // by RunStatus
  std::uint64_t warm_runs = 0;
  std::uint64_t cold_runs = 0;
  std::array<Histogram, static_cast<std::size_t>(Phase::kCount)> phases;
  std::map<std::string, std::uint64_t> refusals;
  std::map<int, std::uint64_t> answers;  // by class: 2 for 200 to 299
  Activity activity;                     // by project, for the overview
};

}  // namespace glovebox::runs
