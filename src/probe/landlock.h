// Landlock: which ABI the kernel speaks, and whether a rule really denies.
#pragma once

#include "probe/attempt.h"
#include "probe/finding.h"

namespace glovebox::probe {

struct LandlockFacts {
  int abi = 0;         // 0: none
  int error = 0;       // of asking for the ABI: ENOSYS not built, EOPNOTSUPP not switched on
  Attempt enforced{};  // a write was really denied; only tried when abi > 0
};

LandlockFacts probe_landlock();
void explain(const LandlockFacts& facts, Findings& findings);

}  // namespace glovebox::probe
