// FNV-1a, for names: not against an attacker who wants two files with one digest.
#pragma once

#include <cstdint>
#include <string_view>

namespace glovebox::launcher {

inline constexpr std::uint64_t kEmptyDigest = 14695981039346656037ull;

constexpr std::uint64_t digest_of(std::string_view bytes, std::uint64_t before = kEmptyDigest) {
  for (const char c : bytes) before = (before ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return before;
}

}  // namespace glovebox::launcher
