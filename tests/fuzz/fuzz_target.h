// What every fuzz target has: the one function that libFuzzer, or the replayer in replay.cc, calls
// with an input. It aborts when a promise is broken; what the input says is never trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace glovebox::fuzz {

inline std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

// Stays on in every build, unlike assert().
inline void promise(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "a promise is broken: %s\n", what);
  std::abort();
}

// Bytes allocated on the heap since the last reset(), counted by allocation_count.cc. A decoder
// that believes a length it has not checked shows here long before it shows as a crash.
void reset_allocated();
std::size_t allocated();

// What is decoded can be encoded, and that decodes to the same value; nothing allocates much more
// than the input is long.
template <class Decode, class Encode>
void decodes_and_encodes(const std::uint8_t* data, std::size_t size, Decode decode, Encode encode) {
  constexpr std::size_t kFixedCosts = 16 * 1024;
  reset_allocated();
  const auto value = decode(bytes_of(data, size));
  promise(allocated() <= kFixedCosts + 32 * size, "a decoder allocates no more than it was given");
  if (!value) return;
  const auto bytes = encode(*value);
  const auto again = decode(bytes);
  promise(again.has_value(), "what was encoded decodes");
  promise(*again == *value, "to the same value");
  promise(encode(*again) == bytes, "and to the same bytes");
}

}  // namespace glovebox::fuzz
