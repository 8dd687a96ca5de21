// The system-call filter, compiled at build time by gen_filter (building it takes 2 ms, every
// sandbox would pay that). Two programs that both must agree: one refuses by argument, one is the
// list of calls that exist at all.
#pragma once

#include <linux/filter.h>

#include <span>

namespace glovebox::agent {

std::span<const sock_filter> refuse_filter();
std::span<const sock_filter> allow_filter();

// Async-signal-safe; needs no_new_privs or CAP_SYS_ADMIN. Returns 0 or an errno.
int install_filters() noexcept;

}  // namespace glovebox::agent
