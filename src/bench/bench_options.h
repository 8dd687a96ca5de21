// The options of `glovebox bench`, and how many calls each measurement makes.
#pragma once

#include <string>

#include "base/result.h"
#include "client/connection/server_location.h"
#include "model/profile.h"
#include "options/command_line.h"

namespace glovebox::bench {

// Calls per round, unless the name says otherwise.
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
  unsigned batches = 3;      // of a thousand runs
  unsigned load_ms = 3'000;  // 16 clients; two loops of bwrap
  unsigned sessions = 40;    // created back to back
  unsigned sessions_paced = 15;
  unsigned contexts = 30;
  unsigned files = 2;         // of a gigabyte; 0: none
  bool many_sessions = true;  // a thousand at once
  unsigned streams = 4;       // through a sandbox's network, each way
  unsigned stream_mb = 256;
  unsigned connects = 100;     // new connections
  unsigned beside_ms = 4'000;  // measured beside a sandbox that floods
  unsigned sets = 50;          // package sets, all at once
};

struct BenchOptions {
  // As typed.
  client::ServerLocationOptions server;  // without --url and GLOVEBOX_URL: a server of its own
  std::string only;
  std::string rounds;
  bool quick = false;
  bool json = false;
  bool check = false;
  bool profile = false;
  std::string reuse;
  // Set by check_bench_options().
  Effort effort;
  ReuseMode reuse_mode = ReuseMode::kNever;
  bool measures_runs = true;
  bool measures_sessions = true;
  bool measures_dialects = true;
  bool measures_network = true;  // needs a server of its own
  bool measures_dependencies = true;
};

// `bench` must outlive the parsing.
options::CommandLine bench_command_line(BenchOptions& bench);
// kInvalidArgument: a value is invalid, or options contradict each other.
Result<> check_bench_options(BenchOptions& bench);

}  // namespace glovebox::bench
