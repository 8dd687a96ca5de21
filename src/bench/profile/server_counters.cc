#include "bench/profile/server_counters.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "bench/profile/process_clock.h"

namespace glovebox::bench {
namespace {

bool needs_tracepoints(Event event) {
  return event == Event::kSystemCalls || event == Event::kMessagesSent ||
         event == Event::kMessagesReceived;
}

const char* plural_of(Event event) {
  switch (event) {
    case Event::kCpuTime:
      return "CPU time of sandboxes";
    case Event::kPageFaults:
      return "page faults";
    case Event::kContextSwitches:
      return "context switches";
    case Event::kSystemCalls:
      return "system calls";
    case Event::kMessagesSent:
      return "messages sent";
    case Event::kMessagesReceived:
      return "messages received";
  }
  return "";
}

// Each counter is a descriptor, and there is one for each waiting sandbox's processes.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (std::filesystem::directory_iterator one("/proc/" + std::to_string(pid) + "/task", error),
       end;
       !error && one != end; one.increment(error)) {
    threads.push_back(std::atoi(one->path().filename().c_str()));
  }
  return threads;
}

void add(std::optional<double>& sum, double more) { sum = sum.value_or(0) + more; }

}  // namespace

ServerCounters ServerCounters::start(const ServerPids& pids, const std::vector<Event>& events) {
  raise_descriptor_limit();
  ServerCounters counters;
  const std::vector<ServerProcess> processes = server_processes(pids);
  std::optional<Result<Tracepoints>> tracepoints;
  for (const Event event : events) {
    if (needs_tracepoints(event)) {
      if (!tracepoints) tracepoints = Tracepoints::find();
      if (!*tracepoints) {
        counters.gaps_.push_back(std::string(plural_of(event)) + ": " +
                                 tracepoints->error().message());
        continue;
      }
    }
    counters.count(processes, event, tracepoints && *tracepoints ? &**tracepoints : nullptr);
  }
  return counters;
}

void ServerCounters::count(const std::vector<ServerProcess>& processes, Event event,
                           const Tracepoints* tracepoints) {
  for (const ServerProcess& process : processes) {
    for (const pid_t thread : threads_of(process.pid)) {
      auto counter = open_counter(thread, event, tracepoints);
      if (counter) {
        counters_.push_back({process.role, event, std::move(*counter)});
        continue;
      }
      if (counter.error().code() == Errc::kNotFound) continue;
      // A sum of some of the processes would look like one of all.
      gaps_.push_back(std::string(plural_of(event)) + ": " + counter.error().message());
      std::erase_if(counters_, [&](const Counter& one) { return one.event == event; });
      if (event == Event::kCpuTime) clock(processes);
      return;
    }
  }
}

void ServerCounters::clock(const std::vector<ServerProcess>& processes) {
  for (const ServerProcess& process : processes) {
    // Sandboxes end with their run, and their time with them.
    if (process.role == Role::kSandboxSetup || process.role == Role::kInterpreter) continue;
    const auto time = process_cpu_time(process.pid);
    if (time) clocked_.push_back({process.role, process.pid, *time});
  }
}

CountsByRole ServerCounters::read() const {
  CountsByRole counts;
  const auto cell = [&](Role role, Event event) -> std::optional<double>& {
    return counts[static_cast<std::size_t>(role)][static_cast<std::size_t>(event)];
  };
  for (const Counter& counter : counters_) {
    const auto value = read_counter(counter.fd);
    if (value) add(cell(counter.role, counter.event), static_cast<double>(*value));
  }
  for (const Clocked& clocked : clocked_) {
    const auto now = process_cpu_time(clocked.pid);
    if (now) {
      add(cell(clocked.role, Event::kCpuTime), static_cast<double>((*now - clocked.begin).count()));
    }
  }
  return counts;
}

}  // namespace glovebox::bench
