// A plain process with rlimits, Landlock, seccomp and another user, for hosts where namespaces are
// forbidden. A convenience, not a security boundary: it is never chosen by itself.
#pragma once

#include "engine/launched_engine.h"

namespace glovebox::engine {

class ProcessEngine final : public LaunchedEngine {
 public:
  EngineKind kind() const override { return EngineKind::kProcess; }

 protected:
  void describe(Features&) const override {}
};

}  // namespace glovebox::engine
