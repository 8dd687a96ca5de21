// Metadata that a client attaches to a file: extended attributes of the namespace "user.", without
// that prefix. Guests read and set them, too, and snapshots contain them. Server and agent both
// check it, as neither trusts the other.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glovebox::wire {

inline constexpr std::string_view kMetadataNamespace = "user.";
inline constexpr std::size_t kMaxMetadataKey = 250;     // with the namespace as the kernel allows
inline constexpr std::size_t kMaxMetadataBytes = 4608;  // of all keys and values together
inline constexpr std::size_t kMaxMetadataPairs = 128;

using Metadata = std::vector<std::pair<std::string, std::string>>;

// Printable ASCII, and a key is not empty.
bool is_valid_metadata(std::string_view key, std::string_view value);
// Each of them, and all together within the bounds.
bool is_valid_metadata(const Metadata& metadata);

}  // namespace glovebox::wire
