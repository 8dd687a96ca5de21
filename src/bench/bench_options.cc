#include "bench/bench_options.h"

namespace glovebox::bench {
namespace {

constexpr std::uint64_t kMostRounds = 100;

Effort quick_effort() {
  Effort effort;
  effort.rounds = 1;
  effort.floor = 50;
  effort.processes = 10;
  effort.slow_processes = 2;
  effort.containers = 3;
  effort.paced = 40;
  effort.back_to_back = 60;
  effort.data = 20;
  effort.cold = 4;
  effort.shell = 20;
  effort.bursts = 1;
  effort.batches = 1;
  effort.load_ms = 1'000;
  effort.sessions = 10;
  effort.sessions_paced = 5;
  effort.contexts = 8;
  effort.files = 1;
  effort.many_sessions = false;
  effort.streams = 2;
  effort.connects = 30;
  effort.beside_ms = 1'000;
  effort.sets = 3;
  return effort;
}

}  // namespace

options::CommandLine bench_command_line(BenchOptions& bench) {
  return {
      .name = "glovebox bench",
      .usage = {"[OPTIONS]"},
      .description =
          "Measure runs on a server beside bwrap, runc and docker, as far as they are installed, "
          "with the same work on the same machine at the same time. Without --url and "
          "GLOVEBOX_URL it starts a server for the measurement.",
      .groups = {{"Options",
                  {{"--quick", "", "run one short round; the figures are rough", &bench.quick},
                   {"--only", "GROUP",
                    "measure only runs, sessions, dialects (other clients' APIs beside /v1), "
                    "dependencies (downloads three packages from your index) or network (only with "
                    "a server of its own)",
                    &bench.only},
                   {"--rounds", "N", "number of rounds (default 3); p99 is that of the best round",
                    &bench.rounds},
                   {"--check", "", "exit with status 1 if a target is missed or a call failed",
                    &bench.check},
                   {"--profile", "",
                    "show where the CPU time of a warm run goes instead: by process, with system "
                    "calls, page faults and messages, in kernel threads, and the floor; starts its "
                    "own server, and counts most as root",
                    &bench.profile},
                   {"--reuse", "MODE",
                    "with --profile: of runs that share sandboxes: sandbox, or interpreter",
                    &bench.reuse},
                   {"--json", "", "print JSON instead of tables", &bench.json}}},
                 client::server_location_options(bench.server)},
      .notes =
          "Exit status: 0 measured, 1 a target was missed (with --check), 2 bad usage, 125 no\n"
          "server responds, 130 interrupted.\n"};
}

Result<> check_bench_options(BenchOptions& bench) {
  const std::string& only = bench.only;
  const bool is_known = only.empty() || only == "runs" || only == "sessions" ||
                        only == "dialects" || only == "network" || only == "dependencies";
  if (!is_known) {
    return fail(
        Errc::kInvalidArgument,
        "--only must be runs, sessions, dialects, network or dependencies, not '" + only + "'");
  }
  if (only == "network" && !(bench.server.url.empty() && bench.server.data_dir.empty())) {
    return fail(Errc::kInvalidArgument,
                "--only network starts its own server; omit --url and --data-dir");
  }
  if (bench.profile && (!only.empty() || bench.check || !bench.rounds.empty())) {
    return fail(Errc::kInvalidArgument,
                "--profile cannot be used with --only, --rounds or --check");
  }
  if (bench.profile && !(bench.server.url.empty() && bench.server.data_dir.empty())) {
    return fail(Errc::kInvalidArgument,
                "--profile starts its own server; omit --url and --data-dir");
  }
  if (!bench.reuse.empty()) {
    const ReuseMode* mode = parse_reuse(bench.reuse);
    if (mode == nullptr || !bench.profile) {
      return fail(Errc::kInvalidArgument,
                  "--reuse goes with --profile, and must be never, sandbox or interpreter");
    }
    bench.reuse_mode = *mode;
  }
  bench.measures_runs = only.empty() || only == "runs";
  bench.measures_sessions = only.empty() || only == "sessions";
  bench.measures_dialects = only.empty() || only == "dialects";
  bench.measures_network = only.empty() || only == "network";
  bench.measures_dependencies = only.empty() || only == "dependencies";
  if (bench.quick) bench.effort = quick_effort();
  if (!bench.rounds.empty()) {
    TRY(const std::uint64_t count, options::parse_count(bench.rounds, "--rounds", kMostRounds));
    if (count == 0) return fail(Errc::kInvalidArgument, "--rounds must be at least 1");
    bench.effort.rounds = static_cast<unsigned>(count);
  }
  return {};
}

}  // namespace glovebox::bench
