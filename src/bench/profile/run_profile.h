// What one warm run costs on this host, and which process pays for it.
#pragma once

#include <string>
#include <vector>

#include "bench/bench_options.h"
#include "bench/profile/floor.h"
#include "bench/profile/kernel_threads.h"
#include "bench/profile/server_counters.h"
#include "client/connection/server_location.h"
#include "model/profile.h"

namespace glovebox::bench {

// The cost of one run, with its sandbox made, used, ended and cleaned up.
struct LoadProfile {
  std::string name;  // of the load
  std::size_t runs = 0;
  std::size_t errors = 0;
  double seconds = 0;         // that the calls took
  double found_waiting = 0;   // share of the runs that found a sandbox ready
  CountsByRole counts;        // per run; CPU time in milliseconds
  GroupTimes kernel_threads;  // of all runs
};

struct RunProfile {
  std::vector<LoadProfile> loads;
  std::vector<FloorPart> floor;
  std::vector<std::string> not_counted;  // what, and why
};

RunProfile profile_runs(const client::ServerLocation& location, const ServerPids& pids,
                        const Effort& effort, ReuseMode reuse);

}  // namespace glovebox::bench
