#include "http/byte_range.h"

#include <algorithm>
#include <charconv>

namespace glovebox::http {
namespace {

std::optional<std::uint64_t> parse_offset(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<ByteRange> parse_range(std::string_view header) {
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit)) return std::nullopt;
  header.remove_prefix(kUnit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view before = header.substr(0, dash);
  const std::string_view after = header.substr(dash + 1);
  ByteRange range{parse_offset(before), parse_offset(after)};
  // What is there must be a number, and one of the two must be there.
  if (!before.empty() && !range.first) return std::nullopt;
  if (!after.empty() && !range.last) return std::nullopt;
  if (!range.first && !range.last) return std::nullopt;
  if (range.first && range.last && *range.last < *range.first) return std::nullopt;
  return range;
}

std::optional<ByteSpan> span_of(const ByteRange& range, std::uint64_t total) {
  if (!range.first) {
    const std::uint64_t size = std::min(*range.last, total);
    if (size == 0) return std::nullopt;
    return ByteSpan{total - size, size};
  }
  if (*range.first >= total) return std::nullopt;
  const std::uint64_t last = std::min(range.last.value_or(total - 1), total - 1);
  return ByteSpan{*range.first, last - *range.first + 1};
}

}  // namespace glovebox::http
