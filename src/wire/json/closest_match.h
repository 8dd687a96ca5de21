// "did you mean ...?" for a name that is not in a list.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace glovebox::wire {

// The known name within an edit distance of two, or nothing.
std::string_view closest_match(std::string_view word, std::span<const std::string_view> known);

}  // namespace glovebox::wire
