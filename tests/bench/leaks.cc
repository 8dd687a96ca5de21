#include <dirent.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "modes.h"
#include "running_launcher.h"
#include "subjects.h"

namespace glovebox::bench::cold {
namespace {

namespace fs = std::filesystem;

// The kernel frees some things a while after their last user is gone and does not report when
// (memory cgroups most of all), so counts are taken again until they are back or this much time is
// over.
constexpr auto kSettlesWithin = std::chrono::seconds(30);
constexpr int kLookAgainMs = 50;

using Counts = std::map<std::string, std::int64_t>;

bool is_number(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Processes with a command line: the kernel's own threads come and go as they like.
void count_processes(Counts& counts) {
  std::set<std::string> namespaces;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    if (!is_number(entry.path().filename().string())) continue;
    if (text_of(entry.path() / "cmdline").empty()) continue;
    ++counts["processes"];
    std::error_code gone;
    for (const auto& link : fs::directory_iterator(entry.path() / "ns", gone)) {
      const fs::path target = fs::read_symlink(link.path(), gone);
      if (!gone) namespaces.insert(target.string());
    }
  }
  counts["namespaces"] = static_cast<std::int64_t>(namespaces.size());
}

std::int64_t lines_in(const std::string& path) {
  const std::string text = text_of(path);
  return std::count(text.begin(), text.end(), '\n');
}

std::int64_t entries_below(const std::string& path, bool directories_only,
                           const std::string& except = "") {
  std::int64_t count = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (directories_only && !at->is_directory(gone)) continue;
    if (at->path().filename() != except) ++count;
  }
  return count;
}

void count_kernel_cgroups(Counts& counts) {
  std::istringstream table(text_of("/proc/cgroups"));
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string name;
    std::int64_t hierarchy = 0;
    std::int64_t number = 0;
    if (!(words >> name >> hierarchy >> number)) continue;
    for (const char* ours : {"memory", "pids", "cpu", "cpuacct"}) {
      if (name == ours) counts["cgroups in the kernel: " + name] = number;
    }
  }
}

// `launcher` is a running one whose descriptors count, or 0.
Counts count_everything(pid_t launcher) {
  Counts counts;
  count_processes(counts);
  counts["mounts"] = lines_in("/proc/self/mountinfo");
  counts["cgroup directories"] = entries_below("/sys/fs/cgroup", true);
  count_kernel_cgroups(counts);
  counts["own descriptors"] = entries_below("/proc/self/fd", false);
  counts["files in /run/glovebox"] = entries_below("/run/glovebox", false, "slices");
  counts["layers"] = entries_below("/var/lib/glovebox", true);
  if (launcher > 0) {
    counts["the launcher's descriptors"] =
        entries_below("/proc/" + std::to_string(launcher) + "/fd", false);
    counts["the launcher's mounts"] = lines_in("/proc/" + std::to_string(launcher) + "/mountinfo");
  }
  return counts;
}

// Once nothing changes any more: a launcher may make its next sandbox ahead, and the kernel takes
// down the last one, a little after the answer.
Counts settled_counts(pid_t launcher) {
  constexpr int kSameTimes = 5;
  const Clock::time_point deadline = Clock::now() + kSettlesWithin;
  Counts counts = count_everything(launcher);
  for (int same = 0; same < kSameTimes && Clock::now() < deadline;) {
    ::poll(nullptr, 0, kLookAgainMs);
    Counts now = count_everything(launcher);
    same = now == counts ? same + 1 : 0;
    counts = std::move(now);
  }
  return counts;
}

// Fewer than before is no leak: something that was there before us has gone.
bool back_to(const Counts& before, const Counts& after) {
  return std::all_of(before.begin(), before.end(),
                     [&](const auto& one) { return after.at(one.first) <= one.second; });
}

bool compare(const std::string& what, const Counts& before, pid_t launcher) {
  const Clock::time_point deadline = Clock::now() + kSettlesWithin;
  const Clock::time_point began = Clock::now();
  Counts after = count_everything(launcher);
  while (!back_to(before, after) && Clock::now() < deadline) {
    ::poll(nullptr, 0, kLookAgainMs);
    after = count_everything(launcher);
  }
  const bool equal = back_to(before, after);
  std::printf("%s: %s (after waiting %.2f s)\n", what.c_str(),
              equal ? "nothing is left behind" : "SOMETHING IS LEFT BEHIND",
              std::chrono::duration<double>(Clock::now() - began).count());
  for (const auto& [name, count] : before) {
    std::printf("  %-32s before %6lld  after %6lld%s\n", name.c_str(),
                static_cast<long long>(count), static_cast<long long>(after.at(name)),
                after.at(name) > count ? "  LEAK" : "");
  }
  std::fflush(stdout);
  return equal;
}

unsigned run_sequentially(const Command& command, unsigned runs) {
  unsigned failures = 0;
  for (unsigned i = 0; i < runs; ++i) {
    const auto pid = start(command, STDERR_FILENO);
    if (!pid || wait_for(*pid) != 0) ++failures;
  }
  return failures;
}

unsigned run_at_once(const Command& command, unsigned runs) {
  std::vector<pid_t> started;
  unsigned failures = 0;
  for (unsigned i = 0; i < runs; ++i) {
    if (const auto pid = start(command, STDERR_FILENO)) {
      started.push_back(*pid);
    } else {
      ++failures;
    }
  }
  for (const pid_t pid : started) {
    if (wait_for(pid) != 0) ++failures;
  }
  return failures;
}

bool no_trace_of(const std::string& what, const Command& command, const Options& options,
                 pid_t launcher) {
  // One run makes what stays on purpose: the layer, the slices' file, the launcher's nursery.
  if (run_sequentially(command, 1) != 0) {
    std::printf("%s: the first run failed\n", what.c_str());
    return false;
  }
  const Counts before = settled_counts(launcher);
  const unsigned one_by_one = run_sequentially(command, options.sequential);
  const unsigned at_once = run_at_once(command, options.parallel);
  std::printf("%s: %u of %u one after another and %u of %u at once failed\n", what.c_str(),
              one_by_one, options.sequential, at_once, options.parallel);
  return compare(what, before, launcher) && one_by_one == 0 && at_once == 0;
}

}  // namespace

int look_for_leaks(const Options& options) {
  Places places;
  places.bin_dir = options.bin_dir;
  const Counts at_first = settled_counts(0);
  bool clean =
      no_trace_of("cold", glovebox_run(places, "private", {"--exec", "/bin/true"}), options, 0);
  {
    const auto launcher = RunningLauncher::start(options.bin_dir);
    if (!launcher) {
      std::fprintf(stderr, "bench_cold: %s\n", launcher.error().message().c_str());
      return 2;
    }
    const Command run = glovebox_run(places, launcher->socket(), {"--exec", "/bin/true"});
    clean = no_trace_of("in a running launcher", run, options, launcher->pid()) && clean;
  }
  // The layer may be new, and is meant to stay.
  Counts before = at_first;
  before.erase("layers");
  clean = compare("after the launcher's end", before, 0) && clean;
  return clean ? 0 : 1;
}

}  // namespace glovebox::bench::cold
