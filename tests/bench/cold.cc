#include <poll.h>

#include <algorithm>
#include <cstdio>

#include "bench/oci_bundle.h"
#include "modes.h"
#include "report.h"
#include "running_launcher.h"
#include "subjects.h"

namespace glovebox::bench::cold {
namespace {

// Long enough that what one subject leaves for the kernel to clean up is not charged to the next,
// whichever that is: bwrap and glovebox both answer before their namespaces are gone.
constexpr int kSettleMs = 5;
constexpr int kQuietMs = 100;
constexpr unsigned kQuietShare = 5;  // a fifth of the rounds: each takes as many pauses
constexpr unsigned kBurstShare = 10;

struct Bar {
  const char* name;
  double most;  // times the baseline's p50
};
// As in docs/guarantees.md.
constexpr Bar kBars[] = {{"glovebox-cold", 1.6}, {"glovebox-in-launcher", 0.5}};

// Round-robin, so that whatever disturbs this machine disturbs all subjects alike.
std::vector<Row> measure(const std::vector<Subject>& subjects, unsigned rounds, int pause_ms) {
  std::vector<Row> rows;
  for (const Subject& subject : subjects) {
    Row row;
    row.name = subject.name;
    row.baseline = subject.baseline;
    row.skipped = subject.skipped;
    rows.push_back(std::move(row));
  }
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      if (!subjects[i].skipped.empty() || round % subjects[i].every != 0) continue;
      if (pause_ms > 0) ::poll(nullptr, 0, pause_ms);
      for (unsigned call = 0; call < subjects[i].burst; ++call) {
        const auto timed = subjects[i].run();
        if (timed && timed->status == 0) {
          rows[i].times.push_back(timed->took);
        } else {
          ++rows[i].errors;
        }
      }
    }
  }
  return rows;
}

bool bars_hold(const std::vector<Row>& rows) {
  bool hold = true;
  for (const Row& row : rows) {
    if (row.errors > 0) {
      std::fprintf(stderr, "missed: %s had %u errors\n", row.name.c_str(), row.errors);
      hold = false;
    }
  }
  for (const Bar& bar : kBars) {
    const Row* row = find_row(rows, bar.name);
    const double over = row != nullptr ? ratio(rows, *row) : 0;
    const bool held = over > 0 && over <= bar.most;
    std::fprintf(stderr, "%s: %s takes %.2f of its baseline's p50; at most %.2f\n",
                 held ? "held" : "missed", bar.name, over, bar.most);
    hold = hold && held;
  }
  return hold;
}

Result<std::vector<Row>> measure_all(const Options& options) {
  Places places;
  places.bin_dir = options.bin_dir;
  const Command warm_up = glovebox_run(places, "private", {"--exec", "/bin/true"});
  if (Trial trial = try_once(warm_up); !trial.worked)
    return fail(Errc::kUnavailable, trial.message);
  TRY(places.etc, etc_of_sandboxes());
  TRY(const OciBundle bundle, OciBundle::make(places.etc));
  places.bundle = bundle.path();
  TRY(const RunningLauncher launcher, RunningLauncher::start(options.bin_dir));
  places.launcher_socket = launcher.socket();
  std::vector<Row> rows = measure(single_subjects(places), options.rounds, kSettleMs);
  const auto append = [&rows](std::vector<Row> more) {
    for (Row& row : more) rows.push_back(std::move(row));
  };
  append(measure(burst_subjects(places), std::max(options.rounds / kBurstShare, 1u), kSettleMs));
  append(measure(quiet_subjects(places), std::max(options.rounds / kQuietShare, 1u), kQuietMs));
  return rows;
}

}  // namespace

int measure_cold(const Options& options) {
  const auto rows = measure_all(options);
  if (!rows) {
    std::fprintf(stderr, "bench_cold: %s\n", rows.error().message().c_str());
    return 2;
  }
  if (options.json) {
    print_json(*rows);
  } else {
    print_table(*rows);
  }
  return options.check && !bars_hold(*rows) ? 1 : 0;
}

}  // namespace glovebox::bench::cold
