#include "guest/agent/files/extended_attributes.h"

#include <linux/limits.h>
#include <sys/xattr.h>

#include <cerrno>
#include <string_view>

#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {
namespace {

bool is_kept(std::string_view name) {
  // The overlay's own, where it keeps them among the users': they say where a file is, not what.
  if (name.starts_with("user.overlay.")) return false;
  return name.starts_with("user.") || name == "security.capability";
}

}  // namespace

ExtendedAttributes read_attributes(int fd) {
  ExtendedAttributes attributes;
  // Mostly there is none, and no need for a buffer.
  if (::flistxattr(fd, nullptr, 0) <= 0) return attributes;
  std::string names(XATTR_LIST_MAX, '\0');
  const ssize_t size = ::flistxattr(fd, names.data(), names.size());
  if (size <= 0) return attributes;
  std::string_view left(names.data(), static_cast<std::size_t>(size));
  while (!left.empty()) {
    const std::string name(left.substr(0, left.find('\0')));
    left.remove_prefix(std::min(left.size(), name.size() + 1));
    if (!is_kept(name)) continue;
    std::string value(XATTR_SIZE_MAX, '\0');
    const ssize_t got = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
    if (got < 0) continue;
    value.resize(static_cast<std::size_t>(got));
    attributes.emplace_back(name, std::move(value));
  }
  return attributes;
}

Result<> write_attributes(int fd, const ExtendedAttributes& attributes) {
  for (const auto& [name, value] : attributes) {
    if (!is_kept(name)) continue;
    if (::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) == 0) continue;
    if (errno == ENOSPC || errno == EDQUOT) return fail_with(errno);
  }
  return {};
}

}  // namespace glovebox::agent
