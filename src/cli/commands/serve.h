// `glovebox serve`: the server, kept running. The keeping is supervisor/; this reads the arguments.
#pragma once

#include <span>
#include <string>

namespace glovebox::cli {

// 0: stopped as asked; 1: another one runs, or it cannot be started; 2: bad usage or settings.
int serve_command(std::span<const std::string> args);

}  // namespace glovebox::cli
