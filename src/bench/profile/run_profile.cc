#include "bench/profile/run_profile.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "bench/load.h"
#include "bench/process.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kProfileClients = 16;
constexpr milliseconds kPause{10};
constexpr milliseconds kIdleTime{500};
constexpr milliseconds kWarmTimeout{30'000};

Job profiled_job(ReuseMode reuse) {
  Job job{R"j({"language":"python","code":"print(1+1)")j", R"(2\n)"};
  if (reuse != ReuseMode::kNever) {
    job.body += R"(,"profile":{"reuse":")" + std::string(reuse_name(reuse)) + "\"}";
    job.also = R"("reused":)";
  }
  job.body += "}";
  return job;
}

struct Load {
  std::string name;
  std::function<Round()> run;
};

void note(RunProfile& profile, const std::vector<std::string>& gaps) {
  for (const std::string& gap : gaps) {
    if (std::find(profile.not_counted.begin(), profile.not_counted.end(), gap) ==
        profile.not_counted.end()) {
      profile.not_counted.push_back(gap);
    }
  }
}

// Adds the events that `counters` has, divided by the runs.
void take_counts(const ServerCounters& counters, std::size_t runs, CountsByRole& into) {
  const CountsByRole counts = counters.read();
  for (std::size_t role = 0; role < kRoles; ++role) {
    for (std::size_t event = 0; event < kEvents; ++event) {
      if (!counts[role][event] || runs == 0) continue;
      const bool is_time = event == static_cast<std::size_t>(Event::kCpuTime);
      into[role][event] = *counts[role][event] / static_cast<double>(runs) / (is_time ? 1e6 : 1);
    }
  }
}

double pool_hits(const client::ServerLocation& location) {
  return metric_sum(Caller(location).get("/metrics"), "glovebox_pool_hits_total");
}

// CPU time alone: the counters of the second pass cost some themselves.
void measure_times(const client::ServerLocation& location, const ServerPids& pids, const Load& load,
                   RunProfile& profile, LoadProfile& into) {
  const auto idle_begin = kernel_threads();
  std::this_thread::sleep_for(kIdleTime);
  const auto begin = kernel_threads();
  const double hits_before = pool_hits(location);
  const auto began = Clock::now();
  const ServerCounters counters = ServerCounters::start(pids, {Event::kCpuTime});
  const Round round = load.run();
  into.seconds = ms_since(began) / 1000;
  wait_until_settled(location);
  into.runs = round.runs;
  into.errors = round.errors;
  take_counts(counters, round.runs, into.counts);
  const double took = ms_since(began);
  const auto end = kernel_threads();
  if (round.runs > 0) {
    into.found_waiting = (pool_hits(location) - hits_before) / static_cast<double>(round.runs);
  }
  note(profile, counters.gaps());
  if (idle_begin && begin && end) {
    into.kernel_threads = without_idle(added_times(*begin, *end), added_times(*idle_begin, *begin),
                                       took / Milliseconds(kIdleTime).count());
  } else if (!end) {
    note(profile, {"kernel threads: " + end.error().message()});
  }
}

void measure_counts(const client::ServerLocation& location, const ServerPids& pids,
                    const Load& load, RunProfile& profile, LoadProfile& into) {
  const ServerCounters counters =
      ServerCounters::start(pids, {Event::kPageFaults, Event::kContextSwitches, Event::kSystemCalls,
                                   Event::kMessagesSent, Event::kMessagesReceived});
  const Round round = load.run();
  wait_until_settled(location);
  take_counts(counters, round.runs, into.counts);
  into.errors += round.errors;
  note(profile, counters.gaps());
}

LoadProfile measure_load(const client::ServerLocation& location, const ServerPids& pids,
                         const Load& load, RunProfile& profile) {
  LoadProfile measured;
  measured.name = load.name;
  // Pools grow to what this load wants, and mounts are kept from the second use on.
  measured.errors = load.run().errors;
  wait_until_settled(location);
  measure_times(location, pids, load, profile, measured);
  measure_counts(location, pids, load, profile, measured);
  return measured;
}

}  // namespace

RunProfile profile_runs(const client::ServerLocation& location, const ServerPids& pids,
                        const Effort& effort, ReuseMode reuse) {
  RunProfile profile;
  const Job job = profiled_job(reuse);
  const std::string how =
      reuse == ReuseMode::kNever ? "" : ", reuse: " + std::string(reuse_name(reuse));
  if (const auto warm = wait_until_warm(location, job, kWarmTimeout); !warm) {
    profile.not_counted.push_back("warm runs: " + warm.error().message());
    return profile;
  }
  const std::vector<Load> loads = {
      {"one client, 10 ms between calls" + how,
       [&] { return call_in_turn(location, job, effort.back_to_back, kPause); }},
      {"16 clients" + how, [&] {
         return call_from_many(location, job, kProfileClients, milliseconds(effort.load_ms));
       }}};
  for (const Load& load : loads) {
    if (!interrupted) profile.loads.push_back(measure_load(location, pids, load, profile));
  }
  if (!interrupted) profile.floor = measure_floor(location, pids.server, effort.floor);
  for (const FloorPart& part : profile.floor) {
    if (!part.missing.empty()) note(profile, {"floor of " + part.name + ": " + part.missing});
  }
  return profile;
}

}  // namespace glovebox::bench
