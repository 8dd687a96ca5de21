// `glovebox run`
#pragma once

#include <span>
#include <string>

namespace glovebox::cli {

int run_command(std::span<const std::string> args);

}  // namespace glovebox::cli
