// A value of a JSON object as it was written: numbers keep all their digits, which a parsed value
// does not.
#pragma once

#include <optional>
#include <string_view>

namespace glovebox::wire {

// `object` is the text of one object, and was parsed before: this looks for its members and does
// not judge it. Nothing when there is no such member.
std::optional<std::string_view> raw_member(std::string_view object, std::string_view name);

}  // namespace glovebox::wire
