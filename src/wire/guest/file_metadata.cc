#include "wire/guest/file_metadata.h"

#include <algorithm>

namespace glovebox::wire {
namespace {

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

bool is_valid_metadata(std::string_view key, std::string_view value) {
  return !key.empty() && key.size() <= kMaxMetadataKey && value.size() <= kMaxMetadataBytes &&
         is_printable(key) && is_printable(value);
}

bool is_valid_metadata(const Metadata& metadata) {
  if (metadata.size() > kMaxMetadataPairs) return false;
  std::size_t bytes = 0;
  for (const auto& [key, value] : metadata) {
    if (!is_valid_metadata(key, value)) return false;
    bytes += key.size() + value.size();
  }
  return bytes <= kMaxMetadataBytes;
}

}  // namespace glovebox::wire
