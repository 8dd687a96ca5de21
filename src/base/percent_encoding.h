// Percent-encoding of URLs (RFC 3986).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// What '+' stands for: itself in a path, a space in a query.
enum class PlusSign : bool { kLiteral, kSpace };

// Everything but [A-Za-z0-9-._~] becomes an escape: safe as one path segment or one query value.
std::string percent_encode(std::string_view text);

// "%41" -> "A". An incomplete or malformed escape is an error (kInvalidArgument).
Result<std::string> percent_decode(std::string_view text, PlusSign plus = PlusSign::kLiteral);

// As above, but a malformed escape stays as it is.
std::string percent_decode_lenient(std::string_view text);

}  // namespace glovebox
