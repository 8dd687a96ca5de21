#include "base/percent_encoding.h"

#include <optional>

#include "base/hex.h"

namespace glovebox {
namespace {

// The byte of the escape "%NN" at `at`.
std::optional<char> escaped_byte(std::string_view text, std::size_t at) {
  if (at + 2 >= text.size()) return std::nullopt;
  const int high = hex_digit_value(text[at + 1]);
  const int low = hex_digit_value(text[at + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string percent_encode(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";  // upper case: RFC 3986, 2.1
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

Result<std::string> percent_decode(std::string_view text, PlusSign plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const std::optional<char> byte = escaped_byte(text, i);
      if (!byte) return fail(Errc::kInvalidArgument, "invalid percent-encoding in the URL");
      out += *byte;
      i += 2;
    } else {
      out += text[i] == '+' && plus == PlusSign::kSpace ? ' ' : text[i];
    }
  }
  return out;
}

std::string percent_decode_lenient(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::optional<char> byte = text[i] == '%' ? escaped_byte(text, i) : std::nullopt;
    out += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return out;
}

}  // namespace glovebox
