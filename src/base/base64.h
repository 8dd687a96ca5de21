// Base64 (RFC 4648): the standard alphabet with padding, and the URL-safe alphabet without.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

std::string base64_encode(std::string_view bytes);
std::string base64_encode(std::span<const unsigned char> bytes);
std::string base64url_encode(std::string_view bytes);

// Strict: one value has one spelling. Line breaks, missing or extra padding and leftover bits that
// are not zero are errors (kInvalidArgument). The URL-safe form takes no padding.
Result<std::string> base64_decode(std::string_view text);
Result<std::string> base64url_decode(std::string_view text);

}  // namespace glovebox
