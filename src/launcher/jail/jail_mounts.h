// The mounts of host paths that a jail was requested with: passed as descriptors by the client or
// named in the administrator's list. They are checked here and prepared for attaching inside.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/jail/root_builder.h"
#include "launcher/policy/policy.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

// The client, as the kernel reports it (SO_PEERCRED).
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool is_server = false;  // acts for network clients
};

struct MountContext {
  const Policy& policy;
  bool rootless = false;
  RootBuilder& files;
};

// One detached mount per request, in their order. `fds` are the sources of those without a name;
// `host_uid` is the host uid of the sandbox's root. kPolicy where the policy forbids it.
Result<std::vector<UniqueFd>> build_mounts(const MountContext& context,
                                           std::span<const wire::MountRequest> mounts,
                                           std::span<const UniqueFd> fds, const Caller& caller,
                                           std::uint32_t host_uid);

}  // namespace glovebox::launcher
