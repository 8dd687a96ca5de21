#include "control/dependencies/words.h"

namespace glovebox::control {

const char* phase_name(BuildPhase phase) {
  switch (phase) {
    case BuildPhase::kQueued:
      return "queued";
    case BuildPhase::kResolving:
      return "resolving";
    case BuildPhase::kBuilding:
      return "building";
    case BuildPhase::kInstalling:
      return "installing";
    case BuildPhase::kSealing:
      return "sealing";
    case BuildPhase::kChecking:
      return "checking";
    case BuildPhase::kWarming:
      return "warming";
    case BuildPhase::kReady:
      return "ready";
  }
  return "unknown";
}

tl::unexpected<Error> nobody_waits() {
  return fail(Errc::kUnavailable, "nobody waits for it any more");
}

}  // namespace glovebox::control
