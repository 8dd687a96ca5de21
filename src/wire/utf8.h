// Guest output is bytes; JSON is text. These say whether the one is the other, and make it so.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::wire {

bool is_utf8(std::string_view bytes);
// Each byte that is not part of a well-formed character becomes U+FFFD.
std::string to_utf8(std::string_view bytes);
// For a terminal or a log: control characters and bytes that are not UTF-8 are shown as "\xNN", and
// what is too long to be read is cut.
std::string printable(std::string_view text);
std::string base64(std::string_view bytes);

}  // namespace glovebox::wire
