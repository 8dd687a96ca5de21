// The Range header of a download: one range of bytes. Several ranges, or a malformed header, are
// ignored, as HTTP allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace glovebox::http {

struct ByteRange {
  std::optional<std::uint64_t> first;  // none: the last `last` bytes
  std::optional<std::uint64_t> last;   // none: to the end
  bool operator==(const ByteRange&) const = default;
};

std::optional<ByteRange> parse_range(std::string_view header);

struct ByteSpan {
  std::uint64_t from = 0;
  std::uint64_t size = 0;
  bool operator==(const ByteSpan&) const = default;
};
// Of something of `total` bytes. Nothing: there is no such part (416).
std::optional<ByteSpan> span_of(const ByteRange& range, std::uint64_t total);

}  // namespace glovebox::http
