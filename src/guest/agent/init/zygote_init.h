// Starts a zygote: from the broker's clone to an interpreter without capabilities, with its
// template's files, no network, and a seccomp filter. Of the nursery it keeps only the user and pid
// namespaces, which let its children join sandboxes.
#pragma once

#include <vector>

#include "base/unique_fd.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {

// `fds` as in MakeZygote. A failed step is reported on the zygote's socket. Never returns.
[[noreturn]] void run_zygote_init(const wire::MakeZygote& make, std::vector<UniqueFd> fds);

}  // namespace glovebox::agent
