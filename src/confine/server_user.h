// Switches to the unprivileged user that parses HTTP. Cannot be undone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace glovebox::confine {

struct ServerIds {
  uid_t uid;
  gid_t gid;
  bool operator==(const ServerIds&) const = default;
};

// `user` is a name of the passwd file or a number; empty: `default_uid`, as group too. Root is
// refused. Reads the file itself: the C library's way would load the host's name services into a
// static program.
Result<ServerIds> find_server_user(const std::string& user, std::uint64_t default_uid,
                                   const std::string& passwd_file = "/etc/passwd");

// As root: raises the limit of open files, then drops groups, ids and all capabilities permanently,
// and checks that root cannot be regained. As another user the ids stay, and the rest is done.
// Before any thread is started, and after everything that needs root has been opened.
Result<> become_server_user(ServerIds ids);

}  // namespace glovebox::confine
