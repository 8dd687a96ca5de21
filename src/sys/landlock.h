// Landlock: a ruleset of where a program may write, in addition to every other wall.
// Built once by the agent, entered by each guest program just before it is executed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// 0 if the kernel does not have it or it is disabled.
int landlock_abi();

struct LandlockPaths {
  std::vector<std::string> readable;  // and executable
  std::vector<std::string> writable;  // and all of the above, files may be made and removed
  std::vector<std::string> devices;   // written to, but nothing made there
  bool deny_tcp = false;              // bind and connect, where the ABI knows them
};
// A path that does not exist is left out. The ruleset also scopes abstract sockets and signals to
// the sandbox where the ABI can.
Result<UniqueFd> make_landlock_ruleset(int abi, const LandlockPaths& paths);

// A domain without rules for files: a process in it can neither trace, read nor signal a process
// outside. Needs ABI kLandlockScopes; before that, a domain without rules for files would still
// forbid moving them between directories.
inline constexpr int kLandlockScopes = 6;
Result<UniqueFd> make_scoping_ruleset();

// Async-signal-safe. Needs no_new_privs. Returns 0 or an errno.
int enter_landlock(int ruleset_fd) noexcept;

}  // namespace glovebox::sys
