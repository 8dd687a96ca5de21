// Users of a session, from the guest's own passwd and group files. The guest writes those, so
// reading is bounded, and a user is never more than an id in the sandbox's own namespace.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::agent {

inline constexpr std::size_t kMaxUserFile = 256 * 1024;
inline constexpr std::size_t kMaxGroups = 64;

struct SessionUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
  std::string shell;
  std::vector<gid_t> groups;  // supplementary
};

// By name or by number, perhaps with a group behind a colon, likewise. A number needs no entry;
// root and the guest's user need none either, so that a guest that broke its passwd can still be
// repaired. Nothing: there is no such user.
std::optional<SessionUser> find_user(std::string_view passwd, std::string_view group,
                                     const std::string& wanted);
// The same by the files in /etc.
std::optional<SessionUser> look_up_user(const std::string& wanted);

}  // namespace glovebox::agent
