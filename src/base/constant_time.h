// Comparison of secrets. Our own few lines instead of CRYPTO_memcmp: base is linked into the static
// programs that have no OpenSSL.
#pragma once

#include <string_view>

namespace glovebox {

// The time taken depends on the sizes only, not on where the contents differ.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace glovebox
