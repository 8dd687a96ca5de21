// Figures of the server itself, and all figures as text for Prometheus. Labels are few and of
// fixed or administrator-made words: never an id, a key or a project.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "control/dependencies/figures.h"
#include "control/session_figures.h"
#include "http/server.h"
#include "node/run_service.h"
#include "store/run_record.h"
#include "store/store.h"

namespace glovebox::control {

class Histogram {
 public:
  // Upper bounds in microseconds; one more bucket holds the rest.
  static constexpr std::array<std::int64_t, 16> kBounds = {
      250,     500,     1'000,   2'000,     5'000,     10'000,    25'000,     50'000,
      100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 30'000'000};

  void add(std::chrono::microseconds time);
  // Appends the lines of one series; `labels` as in `phase="run"`.
  void write(std::string& out, std::string_view name, std::string_view labels) const;
  std::uint64_t count() const { return count_; }

 private:
  std::array<std::uint64_t, kBounds.size() + 1> buckets_{};
  std::uint64_t count_ = 0;
  std::int64_t sum_us_ = 0;
};

enum class Phase : std::uint8_t { kQueue, kSetup, kRun, kTotal, kCount };

class Metrics {
 public:
  void count_run(store::RunStatus status, bool warm);
  void count_phase(Phase phase, std::chrono::microseconds time);
  // `code` is one of our own error codes.
  void count_refusal(std::string_view code) { ++refusals_[std::string(code)]; }
  void count_answer(int status) { ++answers_[status / 100]; }

  std::string text(const node::NodeFigures& node, const store::Health& store,
                   const http::ServerFigures& http, const std::vector<TemplateStatus>& templates,
                   std::size_t subscribers, const SessionFigures& sessions = {},
                   const DependencyFigures& dependencies = {}) const;

 private:
  std::array<std::uint64_t, 8> runs_{};  // by RunStatus
  std::uint64_t warm_runs_ = 0;
  std::uint64_t cold_runs_ = 0;
  std::array<Histogram, static_cast<std::size_t>(Phase::kCount)> phases_;
  std::map<std::string, std::uint64_t> refusals_;
  std::map<int, std::uint64_t> answers_;  // by class: 2 for 200 to 299
};

}  // namespace glovebox::control
