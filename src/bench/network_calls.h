// The program of net_program.h in sessions of a server and outside, and what neighbours notice of
// one that floods.
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

// The benchmark's own server, for as long as its rows are measured.
struct MeasuredServer {
  client::ServerLocation location;
  const NetworkFixture& fixture;
  std::function<pid_t()> gateway_pid;
};

// Outside of any sandbox. The times of the program's first group.
Round run_outside(const std::vector<std::string>& argv);

// In a session of its own that has this `net` of a profile, as JSON.
Round run_inside(const client::ServerLocation& location, const std::string& net,
                 const std::vector<std::string>& argv);

// New connections, and bytes through those that are open, with so many open.
struct RelayRounds {
  Round connects;
  Round echoes;
};
RelayRounds measure_relays(const MeasuredServer& server, unsigned open, unsigned connects,
                           unsigned echoes);

// Who else is there while a neighbour is measured.
enum class NeighbourLoad {
  kNone,
  kSpin,   // one whose connections go to its own loopback, where nobody listens: CPU alone
  kFlood,  // one whose connections go out, and are refused
};
// Warm runs with a network, and bytes through a relay, for so long.
Round runs_beside(const MeasuredServer& server, NeighbourLoad load, const Job& job,
                  unsigned for_ms);
Round echoes_beside(const MeasuredServer& server, NeighbourLoad load, unsigned for_ms);

}  // namespace glovebox::bench
