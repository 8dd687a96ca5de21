#include "base/guest_path.h"

namespace glovebox {

Result<GuestPath> GuestPath::parse(std::string_view text) {
  if (text.empty()) return fail(Errc::kInvalidArgument, "a guest path is empty");
  if (text.find('\0') != std::string_view::npos) {
    return fail(Errc::kInvalidArgument, "a guest path must not contain a NUL byte");
  }
  std::string clean = text.front() == '/' ? "" : "/home/user";
  while (!text.empty()) {
    const std::size_t slash = text.find('/');
    const std::string_view component = text.substr(0, slash);
    text.remove_prefix(slash == std::string_view::npos ? text.size() : slash + 1);
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      return fail(Errc::kInvalidArgument, "a guest path must not contain \"..\"");
    }
    if (component.size() > 255) {
      return fail(Errc::kInvalidArgument, "a name in a guest path is longer than 255 bytes");
    }
    clean += '/';
    clean += component;
  }
  if (clean.empty()) clean = "/";
  if (clean.size() > kMaxBytes) {
    return fail(Errc::kInvalidArgument, "a guest path is longer than 1024 bytes");
  }
  return GuestPath(std::move(clean));
}

}  // namespace glovebox
