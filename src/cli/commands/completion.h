// `glovebox completion bash|zsh|fish`: print a completion script.
#pragma once

#include <span>
#include <string>

namespace glovebox::cli {

int completion_command(std::span<const std::string> args);

}  // namespace glovebox::cli
