#include "base/units.h"

#include <cmath>
#include <cstdlib>
#include <string>

namespace glovebox {
namespace {

struct Quantity {
  double value;
  std::string unit;
};

// Digits, at most one dot, then letters. Written by hand because strtod also takes "0x1p3",
// "inf", "nan" and a leading blank.
Result<Quantity> split(std::string_view text, std::string_view example) {
  std::size_t at = 0;
  int dots = 0;
  while (at < text.size() && ((text[at] >= '0' && text[at] <= '9') || text[at] == '.')) {
    dots += text[at] == '.' ? 1 : 0;
    ++at;
  }
  bool good = at > 0 && at <= 18 && dots <= 1 && text[0] != '.' && text[at - 1] != '.';
  for (const char c : text.substr(at)) good = good && std::isalpha(static_cast<unsigned char>(c));
  if (!good) {
    std::string shown(text.substr(0, 40));
    for (char& c : shown) c = c < ' ' || c > '~' ? '?' : c;
    return fail(Errc::kInvalidArgument,
                "'" + shown + "' is not valid; write it like " + std::string(example));
  }
  return Quantity{std::strtod(std::string(text.substr(0, at)).c_str(), nullptr),
                  std::string(text.substr(at))};
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  static constexpr std::string_view kExample = "10s, 500ms or 2m";
  TRY(const Quantity quantity, split(text, kExample));
  double ms = 0;
  if (quantity.unit == "us") {
    ms = quantity.value / 1000;
  } else if (quantity.unit == "ms") {
    ms = quantity.value;
  } else if (quantity.unit.empty() || quantity.unit == "s") {
    ms = quantity.value * 1000;
  } else if (quantity.unit == "m" || quantity.unit == "min") {
    ms = quantity.value * 60'000;
  } else if (quantity.unit == "h") {
    ms = quantity.value * 3'600'000;
  } else {
    return fail(Errc::kInvalidArgument, "unknown unit of time '" + quantity.unit.substr(0, 20) +
                                            "'; write it like " + std::string(kExample));
  }
  if (ms < 1) return fail(Errc::kInvalidArgument, "a time must be at least 1ms");
  if (ms > 365.0 * 24 * 3'600'000) {
    return fail(Errc::kInvalidArgument, "a time may be at most 365 days");
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::llround(ms)));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  static constexpr std::string_view kExample = "256M, 1.5G or 65536";
  TRY(Quantity quantity, split(text, kExample));
  std::string unit = std::move(quantity.unit);
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  double factor = 1;
  const std::string_view letters = "KMGT";
  if (!unit.empty() && unit != "B") {
    const std::size_t power = letters.find(unit[0]);
    const std::string rest = unit.substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "IB")) {
      return fail(Errc::kInvalidArgument, "unknown unit of size '" + unit.substr(0, 20) +
                                              "'; write it like " + std::string(kExample));
    }
    factor = std::pow(1024.0, static_cast<double>(power + 1));
  }
  const double bytes = quantity.value * factor;
  if (bytes > 1e15) return fail(Errc::kInvalidArgument, "a size may be at most 1000T");
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace glovebox
