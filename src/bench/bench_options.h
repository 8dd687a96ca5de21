// What `glovebox bench` was asked for, and how much work that is.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "client/connection/server_location.h"

namespace glovebox::bench {

// Calls per round, unless it says otherwise.
struct Effort {
  unsigned rounds = 3;
  unsigned floor = 200;
  unsigned processes = 40;      // bwrap with Python
  unsigned slow_processes = 4;  // bwrap with the imports
  unsigned containers = 8;      // runc, docker
  unsigned paced = 150;         // one client, with pauses
  unsigned back_to_back = 300;
  unsigned data = 80;
  unsigned cold = 15;
  unsigned shell = 100;
  unsigned bursts = 2;
  unsigned load_ms = 3'000;  // 16 clients; two loops of bwrap
  unsigned sessions = 40;    // made back to back
  unsigned sessions_paced = 15;
  unsigned contexts = 30;
  unsigned files = 2;         // of a gigabyte; 0: none
  bool many_sessions = true;  // a thousand alive
  unsigned streams = 4;       // through a sandbox's network, each way
  unsigned stream_mb = 256;
  unsigned connects = 100;     // new connections
  unsigned beside_ms = 4'000;  // a neighbour of one that floods
  unsigned sets = 50;          // of packages, all alive
};

struct BenchOptions {
  client::PlaceWords place;  // without --url and GLOVEBOX_URL: a server of our own
  Effort effort;
  bool runs = true;
  bool sessions = true;
  bool dialects = true;
  bool network = true;  // needs a server of our own
  bool dependencies = true;
  bool json = false;
  bool check = false;
  bool help = false;
};

Result<BenchOptions> parse_bench_options(std::span<const std::string> args);
extern const char* const kBenchHelp;      // stands before the options of the place
extern const char* const kBenchMoreHelp;  // and this behind

}  // namespace glovebox::bench
