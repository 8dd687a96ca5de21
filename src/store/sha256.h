// SHA-256 as 64 hex digits: the name of a profile, the fingerprint of a request's body.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::store {

std::string sha256_hex(std::string_view bytes);

}  // namespace glovebox::store
