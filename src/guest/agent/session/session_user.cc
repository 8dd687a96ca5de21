#include "guest/agent/session/session_user.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "guest/agent/init/guest_ids.h"
#include "guest/agent/run/guest_files.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxField = 1024;
constexpr std::uint32_t kMaxId = 65534;  // of a sandbox's slice

std::optional<std::uint32_t> parse_id(std::string_view text) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || id > kMaxId) {
    return std::nullopt;
  }
  return id;
}

std::string_view next_piece(std::string_view& rest, char separator) {
  const std::string_view piece = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(rest.size(), piece.size() + 1));
  return piece;
}

// Calls take(fields) for each line with at least `least` fields, until it says true.
template <class Take>
void for_each_row(std::string_view file, std::size_t least, Take take) {
  while (!file.empty()) {
    std::string_view line = next_piece(file, '\n');
    std::vector<std::string_view> fields;
    // The last may be empty, and is there all the same.
    for (bool more = !line.empty(); more && fields.size() < 8;) {
      more = line.find(':') != std::string_view::npos;
      fields.push_back(next_piece(line, ':'));
    }
    if (fields.size() >= least && take(fields)) return;
  }
}

bool usable(std::string_view text) {
  return text.size() <= kMaxField && text.find('\0') == std::string_view::npos;
}

std::optional<SessionUser> from_passwd(std::string_view passwd, const std::string& wanted) {
  const auto number = parse_id(wanted);
  std::optional<SessionUser> found;
  for_each_row(passwd, 6, [&](const std::vector<std::string_view>& fields) {
    const auto uid = parse_id(fields[2]);
    const auto gid = parse_id(fields[3]);
    const std::string_view shell = fields.size() > 6 ? fields[6] : std::string_view();
    if (!uid || !gid || fields[0].empty()) return false;
    if (!usable(fields[0]) || !usable(fields[5]) || !usable(shell)) return false;
    if (fields[0] != wanted && number != uid) return false;
    found = SessionUser{std::string(fields[0]), *uid, *gid, std::string(fields[5]),
                        std::string(shell),     {}};
    return true;
  });
  return found;
}

std::optional<SessionUser> without_entry(const std::string& wanted) {
  if (wanted == "root") return SessionUser{"root", 0, 0, "/root", "/bin/sh", {}};
  if (wanted == "user") {
    return SessionUser{"user", kGuestUid, kGuestGid, "/home/user", "/bin/sh", {}};
  }
  const auto number = parse_id(wanted);
  if (!number) return std::nullopt;
  return SessionUser{wanted, *number, *number, "/", "/bin/sh", {}};
}

void add_groups(std::string_view group, SessionUser& user) {
  for_each_row(group, 4, [&](const std::vector<std::string_view>& fields) {
    const auto gid = parse_id(fields[2]);
    if (!gid || *gid == user.gid) return false;
    std::string_view members = fields[3];
    while (!members.empty()) {
      if (next_piece(members, ',') != user.name) continue;
      if (std::find(user.groups.begin(), user.groups.end(), *gid) == user.groups.end()) {
        user.groups.push_back(*gid);
      }
      break;
    }
    return user.groups.size() >= kMaxGroups;
  });
}

std::string read_etc(const char* path) {
  const auto file = open_guest_file(path);  // a regular file, and not one of /proc
  std::string text;
  if (!file) return text;
  text.resize(kMaxUserFile);
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file->get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::optional<gid_t> group_id(std::string_view group, std::string_view wanted) {
  const auto number = parse_id(wanted);
  std::optional<gid_t> found;
  for_each_row(group, 3, [&](const std::vector<std::string_view>& fields) {
    if (fields[0] == wanted) found = parse_id(fields[2]);
    return found.has_value();
  });
  return found ? found : number;
}

}  // namespace

std::optional<SessionUser> find_user(std::string_view passwd, std::string_view group,
                                     const std::string& wanted) {
  const std::size_t colon = wanted.find(':');
  const std::string name = wanted.substr(0, colon);
  auto user = from_passwd(passwd.substr(0, kMaxUserFile), name);
  if (!user) user = without_entry(name);
  if (!user) return std::nullopt;
  if (user->home.empty() || user->home[0] != '/') user->home = "/";
  if (colon == std::string::npos) {
    add_groups(group.substr(0, kMaxUserFile), *user);
    return user;
  }
  // As of an image's USER: this group and no other.
  const auto gid = group_id(group.substr(0, kMaxUserFile), wanted.substr(colon + 1));
  if (!gid) return std::nullopt;
  user->gid = *gid;
  return user;
}

std::optional<SessionUser> look_up_user(const std::string& wanted) {
  return find_user(read_etc("/etc/passwd"), read_etc("/etc/group"), wanted);
}

}  // namespace glovebox::agent
