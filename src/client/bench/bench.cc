// `glovebox bench`: what runs on a server cost, beside other means and the kernel alone, in one run
// on this machine.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "client/bench/deps_subjects.h"
#include "client/bench/dialect_subjects.h"
#include "client/bench/load.h"
#include "client/bench/net_subjects.h"
#include "client/bench/net_world.h"
#include "client/bench/options.h"
#include "client/bench/own_server.h"
#include "client/bench/report.h"
#include "client/bench/session_subjects.h"
#include "client/bench/subjects.h"
#include "client/commands.h"
#include "client/print.h"
#include "model/outcome.h"

namespace glovebox::client {
namespace {

using bench::Row;
using bench::Subject;

constexpr int kExitMissed = 1;

void stop_bench_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { bench::interrupted = true; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

void show_progress(const std::string& what) {
  if (::isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K%s", what.c_str());
}

// All subjects in every round, so that whatever disturbs this machine disturbs them alike.
std::vector<Row> measure(std::vector<Subject> subjects, const Place& place, unsigned rounds) {
  unsigned most = rounds;
  for (const Subject& subject : subjects) most = std::max(most, subject.row.least_rounds);
  for (unsigned round = 0; round < most; ++round) {
    for (Subject& subject : subjects) {
      if (!subject.row.skipped.empty() || bench::interrupted) continue;
      if (round >= std::max(rounds, subject.row.least_rounds)) continue;
      show_progress("round " + std::to_string(round + 1) + " of " + std::to_string(most) + ": " +
                    subject.row.name);
      bench::wait_until_settled(place);
      subject.row.rounds.push_back(subject.measure());
    }
  }
  show_progress("");
  std::vector<Row> rows;
  for (Subject& subject : subjects) rows.push_back(std::move(subject.row));
  return rows;
}

int report(const bench::BenchOptions& options, const std::vector<Row>& rows) {
  const std::string text = options.json ? bench::json_text(rows) : bench::table_text(rows);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  if (!options.check) return 0;
  const std::string complaints = bench::complaints(rows);
  std::fputs(complaints.c_str(), stderr);
  return complaints.empty() ? 0 : kExitMissed;
}

// A server that is ours, and what was made for it to reach.
struct Own {
  const bench::OwnServer& server;
  const bench::NetServer& net;
  const bench::DepsWorld& deps;
};

// `own` null: it is somebody's.
int measure_at(const bench::BenchOptions& options, const Place& place, const Own* own) {
  auto bundle = bench::OciBundle::make("/etc", bench::kPythonHello);
  show_progress("getting ready");
  std::vector<Subject> subjects;
  if (options.runs) {
    subjects = bench::make_subjects(place, options.effort, bundle ? &*bundle : nullptr);
  }
  if (options.sessions) {
    for (Subject& one : bench::make_session_subjects(place, options.effort)) {
      subjects.push_back(std::move(one));
    }
  }
  if (options.dialects) {
    for (Subject& one : bench::make_dialect_subjects(place, options.effort)) {
      subjects.push_back(std::move(one));
    }
  }
  if (options.network && own != nullptr) {
    for (Subject& one : bench::make_net_subjects(own->net, options.effort)) {
      subjects.push_back(std::move(one));
    }
  }
  if (options.dependencies) {
    const std::function<pid_t()> launcher =
        own != nullptr ? [own] { return own->server.launcher_pid(); } : std::function<pid_t()>();
    for (Subject& one : bench::make_deps_subjects(place, own != nullptr ? &own->deps : nullptr,
                                                  launcher, options.effort)) {
      subjects.push_back(std::move(one));
    }
  }
  const std::vector<Row> rows = measure(std::move(subjects), place, options.effort.rounds);
  if (bench::interrupted) return kExitInterrupted;
  return report(options, rows);
}

}  // namespace

int bench_command(const std::vector<std::string>& args) {
  const auto options = bench::parse_bench_options(args);
  if (!options) return usage_error(options.error().message());
  if (options->help) {
    std::printf("%s%s%s", bench::kBenchHelp, kPlaceHelp, bench::kBenchMoreHelp);
    return 0;
  }
  stop_bench_on_signals();
  const PlaceSurroundings here = PlaceSurroundings::here();
  const PlaceWords& words = options->place;
  if (!words.url.empty() || !words.data_dir.empty() || !here.url.empty()) {
    if (options->network && !options->runs) {
      return usage_error(
          "--only network measures a server that it starts itself; unset GLOVEBOX_URL");
    }
    const auto place = find_place(words, here);
    if (!place) return failure(place.error());
    if (bench::Caller(*place).get("/health").empty()) {
      return failure(Error(Errc::kUnavailable, "no server answers at " + place->url +
                                                   ", which is from " + place->origin));
    }
    return measure_at(*options, *place, nullptr);
  }
  show_progress("starting a server");
  const bench::NetWorld world = options->network ? bench::NetWorld::make() : bench::NetWorld();
  const bench::DepsWorld deps =
      options->dependencies ? bench::DepsWorld::make(options->effort) : bench::DepsWorld();
  const auto server = bench::OwnServer::start(world.settings(), deps.environment());
  if (!server) {
    return bench::interrupted ? kExitInterrupted : failure(server.error());
  }
  const bench::NetServer net{.place = server->place(), .world = world, .gateway_pid = [&server] {
                               return server->gateway_pid();
                             }};
  const Own own{*server, net, deps};
  return measure_at(*options, server->place(), &own);
}

}  // namespace glovebox::client
