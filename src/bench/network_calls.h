// Runs the program of network_program.h in sessions of a server and on the host, and measures the
// effect of a flooding sandbox on its neighbours.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/load.h"
#include "bench/network_fixture.h"
#include "bench/network_program.h"
#include "bench/process.h"
#include "bench/statistics.h"
#include "client/connection/server_location.h"

namespace glovebox::bench {

// The server that is measured, and what its sandboxes can reach.
struct MeasuredServer {
  client::ServerLocation location;
  const NetworkFixture& fixture;
  std::function<pid_t()> gateway_pid;
};

// On the host, without a sandbox. Returns the times of the program's first group.
Round run_outside(const std::vector<std::string>& argv);

// In a new session with this network policy (JSON).
Round run_inside(const client::ServerLocation& location, const std::string& net,
                 const std::vector<std::string>& argv);

// Times of new connections and of echoes through open ones, with `open` connections open.
struct RelayRounds {
  Round connects;
  Round echoes;
};
RelayRounds measure_relays(const MeasuredServer& server, unsigned open, unsigned connects,
                           unsigned echoes);

// What another sandbox does during the measurement.
enum class NeighbourLoad {
  kNone,
  kSpin,   // connects to its own loopback, where no process listens: only CPU load
  kFlood,  // connects to the outside, which the policy denies
};
// Warm runs with a network, and echoes through a relay, during `for_ms`.
Round runs_beside(const MeasuredServer& server, NeighbourLoad load, const Job& job,
                  unsigned for_ms);
Round echoes_beside(const MeasuredServer& server, NeighbourLoad load, unsigned for_ms);

}  // namespace glovebox::bench
