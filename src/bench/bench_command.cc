#include "bench/bench_command.h"
#include "model/outcome.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "bench/bench_options.h"
#include "bench/bench_server.h"
#include "bench/dialect_subjects.h"
#include "bench/load.h"
#include "bench/network_fixture.h"
#include "bench/network_subjects.h"
#include "bench/package_subjects.h"
#include "bench/profile/profile_command.h"
#include "bench/report.h"
#include "bench/session_subjects.h"
#include "bench/subjects.h"
#include "client/output/print.h"

namespace glovebox::bench {
namespace {

constexpr int kExitMissed = 1;

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

void show_progress(const std::string& what) {
  if (::isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K%s", what.c_str());
}

// Measures all subjects in every round, so that a disturbance of this machine affects them alike.
std::vector<Row> measure(std::vector<Subject> subjects, const client::ServerLocation& location,
                         unsigned rounds) {
  unsigned most = rounds;
  for (const Subject& subject : subjects) most = std::max(most, subject.row.least_rounds);
  for (unsigned round = 0; round < most; ++round) {
    for (Subject& subject : subjects) {
      if (!subject.row.skipped.empty() || interrupted) continue;
      if (round >= std::max(rounds, subject.row.least_rounds)) continue;
      show_progress("round " + std::to_string(round + 1) + " of " + std::to_string(most) + ": " +
                    subject.row.name);
      wait_until_settled(location);
      subject.row.rounds.push_back(subject.measure());
    }
  }
  show_progress("");
  std::vector<Row> rows;
  for (Subject& subject : subjects) rows.push_back(std::move(subject.row));
  return rows;
}

int report(const BenchOptions& options, const std::vector<Row>& rows) {
  const std::string text = options.json ? json_text(rows) : table_text(rows);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  if (!options.check) return 0;
  const std::string failed = failed_checks(rows);
  std::fputs(failed.c_str(), stderr);
  return failed.empty() ? 0 : kExitMissed;
}

// The server that this command has started, and what it can reach.
struct OwnServer {
  const BenchServer& server;
  const MeasuredServer& network;
  const PackageFixture& packages;
};

// `own` is null for a server that was running before.
int measure_at(const BenchOptions& options, const client::ServerLocation& location,
               const OwnServer* own) {
  auto bundle = OciBundle::make("/etc", kPythonHello);
  show_progress("preparing");
  std::vector<Subject> subjects;
  if (options.measures_runs) {
    subjects = make_subjects(location, options.effort, bundle ? &*bundle : nullptr);
  }
  if (options.measures_sessions) {
    for (Subject& one : make_session_subjects(location, options.effort)) {
      subjects.push_back(std::move(one));
    }
  }
  if (options.measures_dialects) {
    for (Subject& one : make_dialect_subjects(location, options.effort)) {
      subjects.push_back(std::move(one));
    }
  }
  if (options.measures_network && own != nullptr) {
    for (Subject& one : make_network_subjects(own->network, options.effort)) {
      subjects.push_back(std::move(one));
    }
  }
  if (options.measures_dependencies) {
    const std::function<pid_t()> launcher =
        own != nullptr ? [own] { return own->server.launcher_pid(); } : std::function<pid_t()>();
    for (Subject& one : make_package_subjects(location, own != nullptr ? &own->packages : nullptr,
                                              launcher, options.effort)) {
      subjects.push_back(std::move(one));
    }
  }
  const std::vector<Row> rows = measure(std::move(subjects), location, options.effort.rounds);
  if (interrupted) return kExitInterrupted;
  return report(options, rows);
}

int measure_existing_server(const BenchOptions& bench,
                            const client::ServerLocationEnvironment& here) {
  if (bench.measures_network && !bench.measures_runs) {
    return client::usage_error("--only network starts its own server; unset GLOVEBOX_URL");
  }
  const auto location = client::find_server_location(bench.server, here);
  if (!location) return client::failure(location.error());
  if (Caller(*location).get("/health").empty()) {
    return client::failure(Error(Errc::kUnavailable, "no server responds at " + location->url +
                                                         " (the address is from " +
                                                         location->origin + ")"));
  }
  return measure_at(bench, *location, nullptr);
}

int measure_own_server(const BenchOptions& bench) {
  show_progress("starting a server");
  const NetworkFixture network = bench.measures_network ? NetworkFixture::make() : NetworkFixture();
  const PackageFixture packages =
      bench.measures_dependencies ? PackageFixture::make(bench.effort) : PackageFixture();
  std::vector<std::string> settings = network.settings();
  // A thousand of them at once, which do nothing.
  settings.emplace_back("sessions.overcommit=40");
  const auto server = BenchServer::start(settings, packages.environment());
  if (!server) return interrupted ? kExitInterrupted : client::failure(server.error());
  const MeasuredServer measured{.location = server->location(),
                                .fixture = network,
                                .gateway_pid = [&server] { return server->gateway_pid(); }};
  const OwnServer own{*server, measured, packages};
  return measure_at(bench, server->location(), &own);
}

}  // namespace

int bench_command(const std::vector<std::string>& args) {
  BenchOptions bench;
  options::Arguments arguments;
  if (const auto status = client::parse_arguments(bench_command_line(bench), args, arguments)) {
    return *status;
  }
  if (const auto checked = check_bench_options(bench); !checked) {
    return client::usage_error(checked.error().message());
  }
  stop_on_signals();
  if (bench.profile) {
    if (!client::ServerLocationEnvironment::here().url.empty()) {
      return client::usage_error("--profile starts its own server; unset GLOVEBOX_URL");
    }
    show_progress("measuring a run");
    const int status = profile_command(bench);
    show_progress("");
    return status;
  }
  const auto here = client::ServerLocationEnvironment::here();
  if (!bench.server.url.empty() || !bench.server.data_dir.empty() || !here.url.empty()) {
    return measure_existing_server(bench, here);
  }
  return measure_own_server(bench);
}

}  // namespace glovebox::bench
