#include "wire/guest/image_layer.h"

#include <charconv>
#include <optional>

#include "base/hex.h"

namespace glovebox::wire {
namespace {

constexpr std::size_t kDigestSize = 64;

// The number up to the next space or the end, which is removed with it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find(' '));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  text.remove_prefix(std::min(text.size(), digits.size() + 1));
  return number;
}

}  // namespace

std::string layer_report_text(const LayerReport& report) {
  return report.diff_id + " " + std::to_string(report.devices) + " " +
         std::to_string(report.capabilities);
}

Result<LayerReport> parse_layer_report(std::string_view text) {
  LayerReport report;
  report.diff_id = std::string(text.substr(0, kDigestSize));
  const bool has_digest = report.diff_id.size() == kDigestSize && is_lower_hex(report.diff_id) &&
                          text.substr(kDigestSize).starts_with(' ');
  if (has_digest) {
    text.remove_prefix(kDigestSize + 1);
    const auto devices = take_number(text);
    const auto capabilities = devices ? take_number(text) : std::nullopt;
    if (capabilities && text.empty()) {
      report.devices = *devices;
      report.capabilities = *capabilities;
      return report;
    }
  }
  return fail(Errc::kProtocol, "the agent's report of a layer is malformed");
}

}  // namespace glovebox::wire
