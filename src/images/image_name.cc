#include "images/image_name.h"

#include <algorithm>

#include "base/hex.h"
#include "base/utf8.h"

namespace glovebox::images {
namespace {

constexpr std::size_t kMaxTag = 128;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_separator(char c) { return c == '.' || c == '_' || c == '-'; }

// [a-z0-9]+ with separators between.
bool is_component(std::string_view text) {
  return !text.empty() && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_or_digit(c) || is_separator(c); });
}

// A host, perhaps with a port: it has a dot or a port, or is localhost.
bool is_registry(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  if (!is_component(host)) return false;
  if (colon == std::string_view::npos) {
    return host == "localhost" || host.find('.') != std::string_view::npos;
  }
  const std::string_view port = text.substr(colon + 1);
  return !port.empty() && port.size() <= 5 &&
         std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_tag(std::string_view text) {
  const auto is_letter = [](char c) {
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() <= kMaxTag && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || c == '.' || c == '-'; });
}

tl::unexpected<Error> invalid(std::string_view text) {
  return fail(Errc::kInvalidArgument, "\"" + to_utf8(text.substr(0, kMaxImageName)) +
                                          "\" is not the name of an image: use lower-case letters, "
                                          "digits and . _ - /, and perhaps a :tag");
}

}  // namespace

Result<std::string> parse_image_name(std::string_view text) {
  if (text.size() > kMaxImageName) return invalid(text);
  std::string_view path = text;
  const std::size_t last = path.rfind('/');
  const std::size_t colon = path.rfind(':');
  std::string_view tag = "latest";
  if (colon != std::string_view::npos && (last == std::string_view::npos || colon > last)) {
    tag = path.substr(colon + 1);
    path = path.substr(0, colon);
  }
  if (!is_tag(tag)) return invalid(text);
  for (constexpr std::string_view kImplied = "docker.io/"; path.starts_with(kImplied);) {
    path.remove_prefix(kImplied.size());
    constexpr std::string_view kOfficial = "library/";
    if (path.starts_with(kOfficial)) path.remove_prefix(kOfficial.size());
  }
  std::string_view rest = path;
  const std::size_t first = rest.find('/');
  if (first != std::string_view::npos && is_registry(rest.substr(0, first))) {
    rest.remove_prefix(first + 1);
  }
  while (true) {
    const std::string_view component = rest.substr(0, rest.find('/'));
    if (!is_component(component)) return invalid(text);
    if (component.size() == rest.size()) break;
    rest.remove_prefix(component.size() + 1);
  }
  if (path.size() >= kLeastImageId && is_lower_hex(path)) {
    return fail(Errc::kInvalidArgument,
                "\"" + std::string(text) + "\" is not the name of an image: it could be an id");
  }
  return std::string(path) + ":" + std::string(tag);
}

}  // namespace glovebox::images
