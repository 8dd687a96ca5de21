// Commands that need HTTP and TLS are in programs of their own, so that `glovebox` stays small and
// starts fast. `glovebox` executes them in its place.
#pragma once

#include <span>
#include <string>

namespace glovebox::cli {

// Executes `glovebox-client NAME ARGS`. Returns only if that fails: the exit status.
int exec_client_program(const std::string& name, std::span<const std::string> args);
// Executes `glovebox-bench ARGS`. Returns only if that fails: the exit status.
int exec_bench_program(std::span<const std::string> args);

}  // namespace glovebox::cli
