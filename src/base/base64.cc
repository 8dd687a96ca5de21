#include "base/base64.h"

#include <array>
#include <cstdint>

namespace glovebox {
namespace {

constexpr std::string_view kStandardAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

using SextetTable = std::array<std::int8_t, 256>;

constexpr SextetTable make_sextet_table(std::string_view alphabet) {
  SextetTable values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}
constexpr SextetTable kStandardValues = make_sextet_table(kStandardAlphabet);
constexpr SextetTable kUrlValues = make_sextet_table(kUrlAlphabet);

std::string encode_unpadded(std::string_view bytes, std::string_view alphabet) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t group = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    group = group << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text += alphabet[group >> (bits - 6) & 63];
  }
  if (bits > 0) text += alphabet[group << (6 - bits) & 63];
  return text;
}

Result<std::string> decode_unpadded(std::string_view text, const SextetTable& values) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0) return fail(Errc::kInvalidArgument, "is not valid base64");
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xff);
    }
  }
  // Leftover bits that are not zero would be a second spelling of the same bytes. Six leftover
  // bits are a character too many.
  if (bits == 6 || (group & ((1u << bits) - 1)) != 0) {
    return fail(Errc::kInvalidArgument, "is not valid base64");
  }
  return bytes;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text = encode_unpadded(bytes, kStandardAlphabet);
  while (text.size() % 4 != 0) text += '=';
  return text;
}

std::string base64_encode(std::span<const unsigned char> bytes) {
  return base64_encode(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::string base64url_encode(std::string_view bytes) {
  return encode_unpadded(bytes, kUrlAlphabet);
}

Result<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return fail(Errc::kInvalidArgument, "is not valid base64");
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  return decode_unpadded(text, kStandardValues);
}

Result<std::string> base64url_decode(std::string_view text) {
  return decode_unpadded(text, kUrlValues);
}

}  // namespace glovebox
