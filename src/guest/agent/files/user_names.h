// The guest's users and groups, from its /etc/passwd and /etc/group. The guest may have written
// anything there: reading is bounded, malformed lines are ignored, and the ids are valid inside
// this sandbox only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {

class UserNames {
 public:
  // Reads the two files; one that cannot be read counts as empty.
  static UserNames read();
  static UserNames parse(std::string_view passwd, std::string_view group);

  // Empty: it has none.
  std::string user(std::uint32_t uid) const;
  std::string group(std::uint32_t gid) const;

  // "name" (with the user's own group), "name:group" or ":group"; names may be numbers.
  Result<Owner> owner(std::string_view text) const;

 private:
  struct User {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
  };
  std::map<std::string, User, std::less<>> users_;
  std::map<std::string, std::uint32_t, std::less<>> groups_;
  std::map<std::uint32_t, std::string> names_of_users_;
  std::map<std::uint32_t, std::string> names_of_groups_;
};

}  // namespace glovebox::agent
