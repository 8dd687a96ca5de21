// bench_cold: the figures promised for `glovebox run`, measured side by side with bwrap and runc in
// one run on this machine, and the checks that many runs leave nothing behind.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "modes.h"

namespace {

constexpr const char* kHelp =
    "usage: bench_cold [--rounds N] [--json] [--check]   times, side by side\n"
    "       bench_cold --leaks [--runs N] [--parallel N] counts before and after many runs\n"
    "       bench_cold --memory [--runs N]               the launcher's memory over many runs\n"
    "       --bin DIR: where glovebox and its launcher are\n";

bool number_after(int argc, char** argv, int& i, unsigned& to) {
  if (i + 1 >= argc) return false;
  const int value = std::atoi(argv[++i]);
  if (value <= 0) return false;
  to = static_cast<unsigned>(value);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  glovebox::bench::cold::Options options;
  options.bin_dir = GBX_BIN_DIR;
  enum { kCold, kLeaks, kMemory } mode = kCold;
  unsigned runs = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    bool understood = true;
    if (word == "--json")
      options.json = true;
    else if (word == "--check")
      options.check = true;
    else if (word == "--leaks")
      mode = kLeaks;
    else if (word == "--memory")
      mode = kMemory;
    else if (word == "--rounds")
      understood = number_after(argc, argv, i, options.rounds);
    else if (word == "--runs")
      understood = number_after(argc, argv, i, runs);
    else if (word == "--parallel")
      understood = number_after(argc, argv, i, options.parallel);
    else if (word == "--bin" && i + 1 < argc)
      options.bin_dir = argv[++i];
    else
      understood = false;
    if (!understood) {
      std::fputs(kHelp, stderr);
      return 2;
    }
  }
  if (::geteuid() != 0) {
    std::fputs("bench_cold: needs root, since the figures are for every wall standing\n", stderr);
    return 2;
  }
  if (runs > 0) options.sequential = options.memory_runs = runs;
  if (mode == kLeaks) return glovebox::bench::cold::look_for_leaks(options);
  if (mode == kMemory) return glovebox::bench::cold::watch_memory(options);
  return glovebox::bench::cold::measure_cold(options);
}
