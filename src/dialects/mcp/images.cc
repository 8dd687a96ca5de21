#include "dialects/mcp/images.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace glovebox::mcp {
namespace {

constexpr std::uint32_t kMaxSide = 65'535;  // the largest that JPEG and GIF can encode

// Takes bytes off the front. Once there are too few, good() is false and numbers are 0.
class Bytes {
 public:
  explicit Bytes(std::string_view rest) : rest_(rest) {}

  bool good() const { return good_; }
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  std::string_view take(std::size_t count) {
    good_ = good_ && count <= rest_.size();
    const std::string_view taken = rest_.substr(0, good_ ? count : 0);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::uint32_t big(std::size_t count) {
    std::uint32_t value = 0;
    for (const char c : take(count)) value = value << 8u | static_cast<unsigned char>(c);
    return value;
  }
  std::uint32_t little(std::size_t count) {
    const std::string_view taken = take(count);
    std::uint32_t value = 0;
    for (std::size_t i = taken.size(); i > 0; --i) {
      value = value << 8u | static_cast<unsigned char>(taken[i - 1]);
    }
    return value;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

bool is_side(std::uint32_t length) { return length > 0 && length <= kMaxSide; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_png(std::string_view all) {
  Bytes bytes(all);
  bytes.take(8);
  bool is_first = true;
  bool has_pixels = false;
  while (bytes.good()) {
    const std::uint32_t length = bytes.big(4);
    const std::string_view kind = bytes.take(4);
    Bytes data(bytes.take(length));
    bytes.take(4);  // its checksum
    if (!bytes.good() || !std::all_of(kind.begin(), kind.end(), is_letter)) return false;
    if (is_first != (kind == "IHDR")) return false;
    if (is_first && (length != 13 || !is_side(data.big(4)) || !is_side(data.big(4)))) return false;
    is_first = false;
    has_pixels = has_pixels || kind == "IDAT";
    if (kind == "IEND") return length == 0 && has_pixels && bytes.empty();
  }
  return false;
}

// SOF0 to SOF15, without DHT, JPG and DAC in between.
bool is_frame(std::uint32_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

bool is_jpeg(std::string_view all) {
  Bytes bytes(all);
  bytes.take(2);
  bool has_frame = false;
  while (bytes.good()) {
    if (bytes.big(1) != 0xff) return false;
    std::uint32_t marker = bytes.big(1);
    while (marker == 0xff) marker = bytes.big(1);  // fill bytes
    const std::uint32_t length = bytes.big(2);
    if (marker < 0xc0 || length < 2) return false;
    Bytes data(bytes.take(length - 2));
    if (is_frame(marker)) {
      data.take(1);
      // A height of 0 is given later, by a DNL segment.
      const bool is_tall = data.big(2) <= kMaxSide;
      if (!is_tall || !is_side(data.big(2))) return false;
      has_frame = true;
    }
    // Here the pixels begin.
    if (marker == 0xda) {
      return bytes.good() && has_frame && bytes.rest().find("\xff\xd9") != std::string_view::npos;
    }
  }
  return false;
}

// Blocks of up to 255 bytes until an empty one.
void skip_blocks(Bytes& bytes) {
  while (bytes.good()) {
    const std::uint32_t length = bytes.big(1);
    if (length == 0) return;
    bytes.take(length);
  }
}

void skip_colours(Bytes& bytes, std::uint32_t flags) {
  if ((flags & 0x80u) != 0) bytes.take(std::size_t{3} << ((flags & 7u) + 1));
}

bool is_gif(std::string_view all) {
  Bytes bytes(all);
  bytes.take(6);
  bytes.take(4);  // the size of the logical screen, which viewers ignore
  const std::uint32_t flags = bytes.big(1);
  bytes.take(2);
  skip_colours(bytes, flags);
  bool has_pixels = false;
  while (bytes.good()) {
    const std::uint32_t kind = bytes.big(1);
    if (kind == 0x3b) return bytes.good() && has_pixels && bytes.empty();
    if (kind == 0x21) {
      bytes.take(1);
    } else if (kind == 0x2c) {
      bytes.take(4);
      if (!is_side(bytes.little(2)) || !is_side(bytes.little(2))) return false;
      skip_colours(bytes, bytes.big(1));
      bytes.take(1);
      has_pixels = true;
    } else {
      return false;
    }
    skip_blocks(bytes);
  }
  return false;
}

bool is_webp(std::string_view all) {
  Bytes bytes(all);
  bytes.take(4);
  if (bytes.little(4) != all.size() - 8) return false;
  bytes.take(4);
  bool is_first = true;
  bool has_pixels = false;
  while (!bytes.empty()) {
    const std::string_view kind = bytes.take(4);
    const std::uint32_t length = bytes.little(4);
    bytes.take(length);
    bytes.take(length % 2);
    if (!bytes.good()) return false;
    const bool is_still = kind == "VP8 " || kind == "VP8L";
    if (is_first && !is_still && kind != "VP8X") return false;
    is_first = false;
    has_pixels = has_pixels || is_still || kind == "ANMF";
  }
  return has_pixels;
}

}  // namespace

std::string_view image_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP") {
    return "image/webp";
  }
  return {};
}

bool is_image(std::string_view bytes, std::string_view type) {
  if (image_type(bytes) != type) return false;
  if (type == "image/png") return is_png(bytes);
  if (type == "image/jpeg") return is_jpeg(bytes);
  if (type == "image/gif") return is_gif(bytes);
  return type == "image/webp" && is_webp(bytes);
}

}  // namespace glovebox::mcp
