// The guest's own users and groups, from its /etc/passwd and /etc/group. The guest may have written
// anything there: what is read is bounded, what makes no sense is passed over, and the numbers mean
// something inside this sandbox only.
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
  // Reads the two files; what cannot be read has no names.
  static UserNames read();
  static UserNames parse(std::string_view passwd, std::string_view group);

  // Empty: it has none.
  std::string user(std::uint32_t uid) const;
  std::string group(std::uint32_t gid) const;

  // "name" (with his own group), "name:group", ":group"; numbers where there is no such name.
  Result<Owner> owner(std::string_view words) const;

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
