// The host paths that a jail was asked to have: opened by the client or named in the
// administrator's list, looked at, and made ready to be attached inside.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/policy/policy.h"
#include "launcher/jail/root_builder.h"
#include "wire/launcher_messages.h"

namespace glovebox::launcher {

// Who asks, as the kernel says.
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool is_server = false;  // of others, over a network
};

struct MountMaking {
  const Policy& policy;
  bool rootless = false;
  RootBuilder& files;
};

// One tree per mount, in their order. `fds` are the sources of those without a name; `host_uid` is
// the sandbox's root as the host numbers it.
Result<std::vector<UniqueFd>> build_mounts(const MountMaking& making,
                                           std::span<const wire::MountRequest> mounts,
                                           std::span<const UniqueFd> fds, const Caller& caller,
                                           std::uint32_t host_uid);

}  // namespace glovebox::launcher
