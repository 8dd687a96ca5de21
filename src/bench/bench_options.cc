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

const char* const kBenchHelp =
    "usage: glovebox bench [OPTIONS]\n"
    "\n"
    "Measures runs on a server beside bwrap, runc and docker, where they are installed, doing the\n"
    "same work on this machine at the same time. Without --url and GLOVEBOX_URL it starts a "
    "server\n"
    "of its own and ends it afterwards.\n"
    "\n";
const char* const kBenchMoreHelp =
    "  --quick                one short round, for a look; figures are rough\n"
    "  --only WHAT            runs, sessions, dialects (other clients beside /v1),\n"
    "                         dependencies (three packages are fetched from your index), or\n"
    "                         network (only with a server that it starts itself)\n"
    "  --rounds N             how many rounds (default 3); p99 is that of the best\n"
    "  --check                exit with 1 when a bar is missed or a call failed\n"
    "  --json                 print an array of objects instead of the table\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: 0 measured, 1 a bar was missed (with --check), 2 bad usage, 125 no server\n"
    "answers, 130 you stopped it.\n";

Result<BenchOptions> parse_bench_options(std::span<const std::string> args) {
  BenchOptions options;
  bool quick = false;
  std::string rounds;
  std::string only;
  std::vector<client::Option> known = client::place_options(options.place);
  known.insert(known.end(), {{"--quick", &quick},
                             {"--rounds", &rounds},
                             {"--only", &only},
                             {"--check", &options.check},
                             {"--json", &options.json},
                             {"--help", &options.help},
                             {"-h", &options.help}});
  TRY(const std::vector<std::string> rest, client::take_options(args, known, "bench"));
  if (!rest.empty()) {
    return fail(Errc::kInvalidArgument,
                "`glovebox bench` takes no words; see `glovebox bench --help`");
  }
  const bool is_known = only.empty() || only == "runs" || only == "sessions" ||
                        only == "dialects" || only == "network" || only == "dependencies";
  if (!is_known) {
    return fail(Errc::kInvalidArgument,
                "--only must be runs, sessions, dialects, network or dependencies");
  }
  if (only == "network" && !(options.place.url.empty() && options.place.data_dir.empty())) {
    return fail(Errc::kInvalidArgument,
                "--only network measures a server that it starts itself; leave out --url and "
                "--data-dir");
  }
  options.runs = only.empty() || only == "runs";
  options.sessions = only.empty() || only == "sessions";
  options.dialects = only.empty() || only == "dialects";
  options.network = only.empty() || only == "network";
  options.dependencies = only.empty() || only == "dependencies";
  if (quick) options.effort = quick_effort();
  if (!rounds.empty()) {
    TRY(const std::uint64_t count, client::parse_count(rounds, "--rounds", kMostRounds));
    if (count == 0) return fail(Errc::kInvalidArgument, "--rounds must be at least 1");
    options.effort.rounds = static_cast<unsigned>(count);
  }
  return options;
}

}  // namespace glovebox::bench
