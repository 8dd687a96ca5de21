// `glovebox serve`: reads the arguments and runs the supervisor, which keeps the server running.
#pragma once

#include <span>
#include <string>

namespace glovebox::cli {

// 0: stopped by request; 1: another server runs, or it cannot start; 2: bad usage or settings.
int serve_command(std::span<const std::string> args);

}  // namespace glovebox::cli
