// What bench_cold can do; each mode returns the program's exit status.
#pragma once

#include <string>

namespace glovebox::bench::cold {

struct Options {
  std::string bin_dir;
  unsigned rounds = 200;
  unsigned sequential = 1000;  // --leaks: one after another
  unsigned parallel = 200;     // --leaks: at once
  unsigned memory_runs = 10'000;
  bool json = false;
  bool check = false;
};

// The times, side by side. With `check`, 1 if a promised figure is missed.
int measure_cold(const Options& options);
// That nothing is left behind: counts before and after.
int look_for_leaks(const Options& options);
// That a running launcher does not grow.
int watch_memory(const Options& options);

}  // namespace glovebox::bench::cold
