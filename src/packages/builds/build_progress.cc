#include "packages/builds/build_progress.h"

namespace glovebox::packages {

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

tl::unexpected<Error> build_cancelled() {
  return fail(Errc::kUnavailable, "the request was cancelled");
}

}  // namespace glovebox::packages
