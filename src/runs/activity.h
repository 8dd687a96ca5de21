// What each project's runs and refusals were in the last hour, in intervals of ten seconds, for the
// overview. Bounded in projects and time; nothing is kept of a single run. On the server's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runs/latency_histogram.h"

namespace glovebox::runs {

// Of one project and interval. What is counted as it happens, and what was measured at its end.
struct ActivitySample {
  std::int64_t at_ms = 0;  // its end, wall clock
  std::uint32_t runs = 0;
  std::uint32_t refusals = 0;
  std::optional<std::chrono::microseconds> p50{};  // of the times to start; nothing: no runs
  std::optional<std::chrono::microseconds> p99{};
  std::uint32_t sandboxes = 0;  // running or paused
  std::uint32_t warm_ready = 0;
  std::uint64_t memory_bytes = 0;
};

// What cannot be counted but has to be looked at.
struct Gauges {
  std::uint32_t sandboxes = 0;
  std::uint32_t warm_ready = 0;
  std::uint64_t memory_bytes = 0;
};

class Activity {
 public:
  static constexpr std::chrono::seconds kInterval{10};
  static constexpr std::size_t kSamples = 360;
  static constexpr std::size_t kProjects = 256;
  // The name under which all projects are counted together; no project has it.
  static constexpr std::string_view kAll = "*";

  // `start` is the time from the request's admission to the start of its code.
  void count_run(const std::string& project, std::chrono::microseconds start);
  void count_refusal(const std::string& project);

  // Ends the interval of every project. `measure(project)` gives its gauges. Projects of which
  // nothing is left to show are forgotten.
  template <class Measure>
  void end_interval(std::int64_t now_ms, const Measure& measure) {
    for (auto it = projects_.begin(); it != projects_.end();) {
      end_interval_of(it->second, now_ms, measure(it->first));
      it = is_over(it->second) && it->first != kAll ? projects_.erase(it) : std::next(it);
    }
    ++ended_;
  }
  // So that its gauges are sampled though it has no runs.
  void note_project(const std::string& project);

  // Oldest first; null: nothing is known.
  const std::deque<ActivitySample>* samples_of(std::string_view project) const;
  struct Rates {
    double runs_per_minute = 0;  // in the last minute
    double refusals_per_minute = 0;
    std::optional<std::chrono::microseconds> p50{};  // in the last two to five minutes
    std::optional<std::chrono::microseconds> p99{};
  };
  Rates rates_of(std::string_view project) const;
  // How many intervals have ended: a reader that has seen fewer has something new to read.
  std::uint64_t ended() const { return ended_; }
  std::size_t projects() const { return projects_.size(); }

 private:
  static constexpr std::size_t kIntervalsPerHalf = 15;  // of the window of percentiles

  struct Project {
    std::uint32_t runs = 0;  // of the interval that has not ended
    std::uint32_t refusals = 0;
    LatencyHistogram starts;
    LatencyHistogram window;         // of this half
    LatencyHistogram window_before;  // and of the one before
    std::size_t intervals_in_window = 0;
    std::deque<ActivitySample> samples;
  };

  Project* project_of(std::string_view project);
  static void end_interval_of(Project& project, std::int64_t now_ms, const Gauges& gauges);
  static bool is_over(const Project& project);

  std::map<std::string, Project, std::less<>> projects_;
  std::uint64_t ended_ = 0;
};

}  // namespace glovebox::runs
