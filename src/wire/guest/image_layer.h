// What the file helper says about a layer of an image that it has unpacked (FileOp::kImageIn), in
// FileDone.entry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::wire {

struct LayerReport {
  std::string diff_id;             // SHA-256 of the uncompressed layer, 64 hexadecimal digits
  std::uint64_t devices = 0;       // nodes that were left out
  std::uint64_t capabilities = 0;  // of files, that could not be kept
  bool operator==(const LayerReport&) const = default;
};

std::string layer_report_text(const LayerReport& report);
// kProtocol: not exactly such a text.
Result<LayerReport> parse_layer_report(std::string_view text);

}  // namespace glovebox::wire
