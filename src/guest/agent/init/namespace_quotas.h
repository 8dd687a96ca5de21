// What the sandbox's own namespaces limit, by /proc/sys: while that is still writable.
#pragma once

#include "base/result.h"
#include "model/sandbox_shares.h"

namespace glovebox::agent {

// No namespace below this one, and a share of inotify that leaves enough of the per-user limit to
// the other sandboxes.
Result<> set_namespace_quotas(const SandboxShares& shares);

// Small socket buffers: they are kernel memory, part of which is shared by the whole host. Best
// effort: not every kernel has these settings per namespace.
Result<> bound_socket_buffers();

}  // namespace glovebox::agent
