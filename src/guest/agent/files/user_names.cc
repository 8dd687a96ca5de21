#include "guest/agent/files/user_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <vector>

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxBytes = 1024 * 1024;
constexpr std::size_t kMaxNames = 10'000;
constexpr std::size_t kMaxName = 64;

std::string read_bounded(const char* path) {
  struct stat info {};
  const auto fd = open_content(AT_FDCWD, path, true, info);
  std::string text;
  if (!fd) return text;
  text.resize(kMaxBytes);
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd->get(), text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == UINT32_MAX) return {};
  return value;
}

std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t colon = line.find(':');
    parts.push_back(line.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    line.remove_prefix(colon + 1);
  }
}

template <class Take>
void for_each_line(std::string_view text, Take take) {
  std::size_t lines = 0;
  while (!text.empty() && lines++ < kMaxNames) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto parts = fields(line);
    const bool named = !parts[0].empty() && parts[0].size() <= kMaxName;
    if (named && line.find('\0') == std::string_view::npos) take(parts);
  }
}

}  // namespace

UserNames UserNames::read() {
  return parse(read_bounded("/etc/passwd"), read_bounded("/etc/group"));
}

UserNames UserNames::parse(std::string_view passwd, std::string_view group) {
  UserNames names;
  for_each_line(passwd, [&](const std::vector<std::string_view>& parts) {
    if (parts.size() < 4) return;
    const auto uid = number(parts[2]);
    const auto gid = number(parts[3]);
    if (!uid || !gid) return;
    // The first of several wins, as in the C library.
    names.users_.emplace(parts[0], User{*uid, *gid});
    names.names_of_users_.emplace(*uid, parts[0]);
  });
  for_each_line(group, [&](const std::vector<std::string_view>& parts) {
    if (parts.size() < 3) return;
    const auto gid = number(parts[2]);
    if (!gid) return;
    names.groups_.emplace(parts[0], *gid);
    names.names_of_groups_.emplace(*gid, parts[0]);
  });
  return names;
}

std::string UserNames::user(std::uint32_t uid) const {
  const auto found = names_of_users_.find(uid);
  return found == names_of_users_.end() ? "" : found->second;
}

std::string UserNames::group(std::uint32_t gid) const {
  const auto found = names_of_groups_.find(gid);
  return found == names_of_groups_.end() ? "" : found->second;
}

Result<Owner> UserNames::owner(std::string_view text) const {
  Owner owner;
  if (text.empty()) return owner;
  const std::string_view user = text.substr(0, text.find(':'));
  if (!user.empty()) {
    if (const auto found = users_.find(user); found != users_.end()) {
      owner.uid = found->second.uid;
      owner.gid = found->second.gid;
    } else if (const auto uid = number(user)) {
      owner.uid = *uid;
    } else {
      return fail(Error(Errc::kInvalidArgument, "no such user", EINVAL));
    }
  }
  if (user.size() == text.size()) return owner;
  const std::string_view group = text.substr(user.size() + 1);
  if (const auto found = groups_.find(group); found != groups_.end()) {
    owner.gid = found->second;
  } else if (const auto gid = number(group)) {
    owner.gid = *gid;
  } else {
    return fail(Error(Errc::kInvalidArgument, "no such group", EINVAL));
  }
  return owner;
}

}  // namespace glovebox::agent
