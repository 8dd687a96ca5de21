#include "runs/activity.h"

#include <algorithm>
#include <iterator>

namespace glovebox::runs {

// Null: there are too many projects; theirs counts in kAll only.
Activity::Project* Activity::project_of(std::string_view project) {
  const auto found = projects_.find(project);
  if (found != projects_.end()) return &found->second;
  if (project != kAll && projects_.size() >= kProjects) return nullptr;
  return &projects_[std::string(project)];
}

void Activity::note_project(const std::string& project) {
  project_of(kAll);
  project_of(project);
}

void Activity::count_run(const std::string& project, std::chrono::microseconds start) {
  for (const std::string_view name : {kAll, std::string_view(project)}) {
    Project* counted = project_of(name);
    if (counted == nullptr) continue;
    ++counted->runs;
    counted->starts.add(start);
  }
}

void Activity::count_refusal(const std::string& project) {
  for (const std::string_view name : {kAll, std::string_view(project)}) {
    if (Project* counted = project_of(name)) ++counted->refusals;
  }
}

void Activity::end_interval_of(Project& project, std::int64_t now_ms, const Gauges& gauges) {
  ActivitySample sample{.at_ms = now_ms,
                        .runs = project.runs,
                        .refusals = project.refusals,
                        .p50 = project.starts.percentile(0.5),
                        .p99 = project.starts.percentile(0.99),
                        .sandboxes = gauges.sandboxes,
                        .warm_ready = gauges.warm_ready,
                        .memory_bytes = gauges.memory_bytes};
  if (project.samples.size() == kSamples) project.samples.pop_front();
  project.samples.push_back(sample);
  project.window.add(project.starts);
  if (++project.intervals_in_window == kIntervalsPerHalf) {
    project.window_before = project.window;
    project.window = {};
    project.intervals_in_window = 0;
  }
  project.starts = {};
  project.runs = 0;
  project.refusals = 0;
}

bool Activity::is_over(const Project& project) {
  return std::all_of(project.samples.begin(), project.samples.end(),
                     [](const ActivitySample& sample) {
                       return sample.runs == 0 && sample.refusals == 0 && sample.sandboxes == 0;
                     });
}

const std::deque<ActivitySample>* Activity::samples_of(std::string_view project) const {
  const auto found = projects_.find(project);
  return found == projects_.end() ? nullptr : &found->second.samples;
}

Activity::Rates Activity::rates_of(std::string_view project) const {
  Rates rates;
  const auto found = projects_.find(project);
  if (found == projects_.end()) return rates;
  const Project& known = found->second;
  constexpr std::size_t kMinute = std::chrono::minutes(1) / kInterval;
  const std::size_t count = std::min(kMinute, known.samples.size());
  for (auto sample = known.samples.rbegin();
       sample != std::next(known.samples.rbegin(), static_cast<std::ptrdiff_t>(count)); ++sample) {
    rates.runs_per_minute += sample->runs;
    rates.refusals_per_minute += sample->refusals;
  }
  LatencyHistogram recent = known.window_before;
  recent.add(known.window);
  recent.add(known.starts);
  rates.p50 = recent.percentile(0.5);
  rates.p99 = recent.percentile(0.99);
  return rates;
}

}  // namespace glovebox::runs
