// Suggestions for a misspelt name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace glovebox::options {

// The candidate that differs least from `word` in spelling; empty when none is close.
std::string_view nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace glovebox::options
