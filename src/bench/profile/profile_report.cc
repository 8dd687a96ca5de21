#include "bench/profile/profile_report.h"

#include <boost/json.hpp>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/utf8.h"
#include "bench/process.h"
#include "client/output/print.h"

namespace glovebox::bench {
namespace {

struct Column {
  Event event;
  const char* title;
  const char* field;
};
constexpr Column kColumns[] = {
    {Event::kCpuTime, "CPU ms", "cpu_ms"},
    {Event::kSystemCalls, "system calls", "system_calls"},
    {Event::kPageFaults, "page faults", "page_faults"},
    {Event::kContextSwitches, "switches", "context_switches"},
    {Event::kMessagesSent, "sent", "messages_sent"},
    {Event::kMessagesReceived, "received", "messages_received"},
};
constexpr const char* kKernelThreads = "kernel threads";
// A group of threads with less is left to the sum.
constexpr double kShownMs = 0.005;

std::string figure(double value, Event event) {
  char text[32];
  std::snprintf(text, sizeof text, event == Event::kCpuTime ? "%.2f" : "%.1f", value);
  return text;
}

std::string figure(const std::optional<double>& value, Event event) {
  return value ? figure(*value, event) : "-";
}

const std::optional<double>& count_of(const LoadProfile& load, std::size_t role, Event event) {
  return load.counts[role][static_cast<std::size_t>(event)];
}

double ms_per_run(const LoadProfile& load, std::chrono::nanoseconds time) {
  return load.runs > 0 ? Milliseconds(time).count() / static_cast<double>(load.runs) : 0;
}

std::optional<double> kernel_ms(const LoadProfile& load) {
  if (load.kernel_threads.empty()) return std::nullopt;
  return ms_per_run(load, sum_of(load.kernel_threads));
}

// Of all roles, and for CPU time of the kernel's threads; of what was counted.
std::optional<double> total(const LoadProfile& load, Event event) {
  std::optional<double> sum = event == Event::kCpuTime ? kernel_ms(load) : std::nullopt;
  for (std::size_t role = 0; role < kRoles; ++role) {
    if (const auto& count = count_of(load, role, event)) sum = sum.value_or(0) + *count;
  }
  return sum;
}

std::string load_text(const LoadProfile& load) {
  char title[256];
  std::snprintf(title, sizeof title,
                "One warm run of print(1+1), %s (%zu runs, %zu errors, %.0f per second, %.0f%% "
                "found a sandbox ready):\n",
                load.name.c_str(), load.runs, load.errors,
                load.seconds > 0 ? static_cast<double>(load.runs) / load.seconds : 0,
                100 * load.found_waiting);
  std::vector<std::vector<std::string>> cells = {{"process"}};
  for (const Column& column : kColumns) cells[0].emplace_back(column.title);
  for (std::size_t role = 0; role < kRoles; ++role) {
    auto& row = cells.emplace_back();
    row.emplace_back(name_of(static_cast<Role>(role)));
    for (const Column& column : kColumns) {
      row.push_back(figure(count_of(load, role, column.event), column.event));
    }
  }
  const auto add_threads = [&](const std::string& name, const std::optional<double>& ms) {
    auto& row = cells.emplace_back();
    row = {name, figure(ms, Event::kCpuTime)};
    row.resize(std::size(kColumns) + 1, "-");
  };
  add_threads(kKernelThreads, kernel_ms(load));
  for (const auto& [group, time] : load.kernel_threads) {
    if (const double ms = ms_per_run(load, time); ms >= kShownMs) add_threads("  " + group, ms);
  }
  auto& row = cells.emplace_back();
  row.emplace_back("total");
  for (const Column& column : kColumns)
    row.push_back(figure(total(load, column.event), column.event));
  return title + client::table(cells) + "\n";
}

double floor_ms(const RunProfile& profile) {
  double sum = 0;
  for (const FloorPart& part : profile.floor) sum += part.cpu_ms;
  return sum;
}

boost::json::value json_of(const std::optional<double>& value) {
  if (!value) return nullptr;
  return std::round(*value * 10'000) / 10'000;
}

boost::json::object json_of(const LoadProfile& load) {
  boost::json::array processes;
  for (std::size_t role = 0; role < kRoles; ++role) {
    boost::json::object process{{"name", name_of(static_cast<Role>(role))}};
    for (const Column& column : kColumns) {
      process[column.field] = json_of(count_of(load, role, column.event));
    }
    processes.push_back(std::move(process));
  }
  boost::json::object threads;
  for (const auto& [group, time] : load.kernel_threads) {
    threads[group] = json_of(ms_per_run(load, time));
  }
  boost::json::object sums;
  for (const Column& column : kColumns) sums[column.field] = json_of(total(load, column.event));
  return {{"name", load.name},
          {"runs", load.runs},
          {"errors", load.errors},
          {"seconds", json_of(load.seconds)},
          {"found_waiting", json_of(load.found_waiting)},
          {"processes", std::move(processes)},
          {"kernel_threads_cpu_ms", json_of(kernel_ms(load))},
          {"kernel_threads", std::move(threads)},
          {"total", std::move(sums)}};
}

}  // namespace

std::string profile_text(const RunProfile& profile) {
  std::string text;
  for (const LoadProfile& load : profile.loads) text += load_text(load);
  if (!profile.floor.empty()) {
    text += "The floor, each part by itself and without walls:\n";
    std::vector<std::vector<std::string>> cells = {{"part", "CPU ms"}};
    for (const FloorPart& part : profile.floor) {
      cells.push_back(
          {part.name, part.missing.empty() ? figure(part.cpu_ms, Event::kCpuTime) : "-"});
    }
    cells.push_back({"total", figure(floor_ms(profile), Event::kCpuTime)});
    text += client::table(cells);
  }
  for (const std::string& gap : profile.not_counted) {
    text += printable("not counted: " + gap) + "\n";
  }
  return text;
}

std::string profile_json(const RunProfile& profile) {
  boost::json::array loads;
  for (const LoadProfile& load : profile.loads) loads.push_back(json_of(load));
  boost::json::array floor;
  for (const FloorPart& part : profile.floor) {
    boost::json::object one{{"name", part.name}, {"cpu_ms", nullptr}};
    if (part.missing.empty()) one["cpu_ms"] = json_of(part.cpu_ms);
    floor.push_back(std::move(one));
  }
  boost::json::array not_counted;
  for (const std::string& gap : profile.not_counted) not_counted.emplace_back(printable(gap));
  const boost::json::object all{{"loads", std::move(loads)},
                                {"floor", std::move(floor)},
                                {"floor_cpu_ms", json_of(floor_ms(profile))},
                                {"not_counted", std::move(not_counted)}};
  return boost::json::serialize(all) + "\n";
}

}  // namespace glovebox::bench
