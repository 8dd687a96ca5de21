// Asks the user's systemd for a scope: a cgroup of its own, below which this user may make others.
// One call of D-Bus over systemd's own socket, written here because a program that is linked
// statically can load no library for it, and a program to run for it may be missing.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::sys {

// Moves `pid` into a new scope of this name with Delegate=yes. systemd answers when it has accepted
// the job: the process is in the scope a moment later.
Result<> start_scope(const std::string& socket, const std::string& unit, pid_t pid);

// The message that this sends, for tests.
std::vector<std::byte> start_scope_message(const std::string& unit, pid_t pid);

}  // namespace glovebox::sys
