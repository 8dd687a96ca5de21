// glovebox: the front. Everything people type begins here.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.h"

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    return glovebox::cli::run_command_line(args);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox: %s\n", error.what());
    return 125;
  }
}
