// glovebox-bench: `glovebox bench`, with the servers and packages that it measures against.
// `glovebox` executes it; it is not meant to be run by hand.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/standard_streams.h"
#include "bench/bench_command.h"

int main(int argc, char** argv) {
  if (!glovebox::ensure_standard_streams()) return 125;
  try {
    return glovebox::bench::bench_command(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-bench: %s\n", error.what());
    return 125;
  }
}
