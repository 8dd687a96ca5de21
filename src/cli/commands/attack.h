// `glovebox attack`
#pragma once

#include <span>
#include <string>

namespace glovebox::cli {

int attack_command(std::span<const std::string> args);

}  // namespace glovebox::cli
