#include "images/image_name.h"

#include <algorithm>

#include "base/hex.h"
#include "base/utf8.h"

namespace glovebox::images {
namespace {

constexpr std::size_t kMaxTag = 128;
constexpr std::size_t kNameDigits = 64;
constexpr std::string_view kDigestMark = "sha256:";
constexpr std::string_view kImpliedRegistry = "docker.io/";
constexpr std::string_view kOfficial = "library/";

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
                                          "digits and . _ - /, and perhaps a :tag or "
                                          "@sha256:digest");
}

// The parts of a name, as it was said but without what container tools leave out.
struct NameParts {
  std::string_view path;    // "registry.example/team/base"
  std::string_view tag;     // "latest" by default; empty: there is a digest
  std::string_view sha256;  // empty: there is a tag
};

Result<NameParts> split_name(std::string_view text) {
  if (text.size() > kMaxImageName) return invalid(text);
  NameParts parts{.path = text, .tag = "latest", .sha256 = {}};
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) {
    parts.path = text.substr(0, at);
    std::string_view digest = text.substr(at + 1);
    if (!digest.starts_with(kDigestMark)) return invalid(text);
    digest.remove_prefix(kDigestMark.size());
    if (digest.size() != kNameDigits || !is_lower_hex(digest)) return invalid(text);
    parts.sha256 = digest;
  }
  const std::size_t last = parts.path.rfind('/');
  const std::size_t colon = parts.path.rfind(':');
  if (colon != std::string_view::npos && (last == std::string_view::npos || colon > last)) {
    parts.tag = parts.path.substr(colon + 1);
    parts.path = parts.path.substr(0, colon);
  }
  if (!is_tag(parts.tag)) return invalid(text);
  if (!parts.sha256.empty()) parts.tag = {};
  while (parts.path.starts_with(kImpliedRegistry)) {
    parts.path.remove_prefix(kImpliedRegistry.size());
    if (parts.path.starts_with(kOfficial)) parts.path.remove_prefix(kOfficial.size());
  }
  return parts;
}

// The registry's length in the path, with the slash behind it; zero: it has none.
std::size_t registry_size(std::string_view path) {
  const std::size_t first = path.find('/');
  if (first == std::string_view::npos || !is_registry(path.substr(0, first))) return 0;
  return first + 1;
}

}  // namespace

Result<std::string> parse_image_name(std::string_view text) {
  TRY(ImageReference reference, parse_image_reference(text));
  return std::move(reference.name);
}

bool has_digest(std::string_view name) { return name.find('@') != std::string_view::npos; }

Result<ImageReference> parse_image_reference(std::string_view text) {
  TRY(const NameParts parts, split_name(text));
  const std::size_t registry = registry_size(parts.path);
  std::string_view rest = parts.path.substr(registry);
  ImageReference reference;
  reference.registry = registry == 0
                           ? std::string(kImpliedRegistry.substr(0, kImpliedRegistry.size() - 1))
                           : std::string(parts.path.substr(0, registry - 1));
  if (registry == 0 && rest.find('/') == std::string_view::npos) reference.repository = kOfficial;
  reference.repository += rest;
  while (true) {
    const std::string_view component = rest.substr(0, rest.find('/'));
    if (!is_component(component)) return invalid(text);
    if (component.size() == rest.size()) break;
    rest.remove_prefix(component.size() + 1);
  }
  if (parts.path.size() >= kLeastImageId && is_lower_hex(parts.path)) {
    return fail(
        Errc::kInvalidArgument,
        "\"" + std::string(text) + "\" is not a valid name of an image: it looks like an id");
  }
  reference.tag = parts.tag;
  reference.sha256 = parts.sha256;
  reference.name = std::string(parts.path);
  reference.name += parts.sha256.empty() ? ":" + reference.tag
                                         : "@" + std::string(kDigestMark) + reference.sha256;
  return reference;
}

}  // namespace glovebox::images
