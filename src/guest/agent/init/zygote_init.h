// The birth of a zygote: from the broker's clone to an interpreter without capabilities, with a
// view of its template's files, no network, and a filter. It keeps the nursery's user and pid
// namespaces, which is what lets its children join sandboxes, and nothing else of the nursery.
#pragma once

#include <vector>

#include "base/unique_fd.h"
#include "wire/sandbox_plan.h"

namespace glovebox::agent {

// `fds` as MakeZygote says. A failed step is told on the zygote's socket. Never returns.
[[noreturn]] void run_zygote_init(const wire::MakeZygote& make, std::vector<UniqueFd> fds);

}  // namespace glovebox::agent
