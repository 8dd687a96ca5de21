// Seccomp: a filter that really filters, and a notification that is really answered.
#pragma once

#include "probe/attempt.h"
#include "probe/finding.h"

namespace glovebox::probe {

struct SeccompFacts {
  Attempt filter{};
  Attempt notification{};
};

SeccompFacts probe_seccomp();
void explain(const SeccompFacts& facts, Findings& findings);

// In a helper: from here on getppid(2) fails with EDOM, by a filter. Also part of the rehearsal.
Attempt install_probe_filter();

}  // namespace glovebox::probe
