// A jail in small, built step by step as the jail engine builds one and left again: all namespaces
// at once, maps, an overlay made outside and attached inside, proc, pivot_root, no capabilities, a
// filter. Single features that work say little about the sum; this is the sum.
#pragma once

#include "probe/attempt.h"
#include "probe/finding.h"

namespace glovebox::probe {

// Fails with the name of the step. kDirect: as root with a uid slice; kUserNamespace: rootless.
Attempt rehearse_jail(Way way);

void explain_rehearsal(const Attempt& rehearsal, Way way, Findings& findings);

}  // namespace glovebox::probe
