// The search of lists: a part of a text, ASCII letters of either case. In SQL as has_text().
#pragma once

#include <string>
#include <string_view>

namespace glovebox::store {

// ASCII letters in lower case.
std::string search_form(std::string_view text);
// `part` is in search_form(). An empty one is in every text.
bool has_text(std::string_view text, std::string_view part);

}  // namespace glovebox::store
