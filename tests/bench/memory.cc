#include <algorithm>
#include <cstdio>

#include "modes.h"
#include "running_launcher.h"
#include "subjects.h"

namespace glovebox::bench::cold {
namespace {

constexpr unsigned kShownTimes = 10;
constexpr double kMayGrow = 1.10;

Result<bool> stays_flat(const Options& options) {
  TRY(const RunningLauncher launcher, RunningLauncher::start(options.bin_dir));
  Places places;
  places.bin_dir = options.bin_dir;
  const Command run = glovebox_run(places, launcher.socket(), {"--exec", "/bin/true"});
  const unsigned step = std::max(options.memory_runs / kShownTimes, 1u);
  std::uint64_t settled = 0;  // after the first step, when every buffer has its size
  std::uint64_t most = 0;
  unsigned errors = 0;
  for (unsigned done = 1; done <= options.memory_runs; ++done) {
    TRY(const Timed timed, run_timed(run));
    if (timed.status != 0) ++errors;
    if (done % step != 0) continue;
    TRY(const std::uint64_t kib, launcher.resident_kib());
    if (settled == 0) settled = kib;
    most = std::max(most, kib);
    std::printf("%6u runs: launcher VmRSS %llu KiB, errors %u\n", done,
                static_cast<unsigned long long>(kib), errors);
    std::fflush(stdout);
  }
  const bool flat = static_cast<double>(most) <= static_cast<double>(settled) * kMayGrow;
  std::printf("%s: from %llu to at most %llu KiB, %u errors\n",
              flat && errors == 0 ? "flat" : "FAILED", static_cast<unsigned long long>(settled),
              static_cast<unsigned long long>(most), errors);
  return flat && errors == 0;
}

}  // namespace

int watch_memory(const Options& options) {
  const auto flat = stays_flat(options);
  if (!flat) {
    std::fprintf(stderr, "bench_cold: %s\n", flat.error().message().c_str());
    return 2;
  }
  return *flat ? 0 : 1;
}

}  // namespace glovebox::bench::cold
