// The jail: Linux namespaces, an overlay root, cgroups, seccomp and Landlock, made by the launcher.
#pragma once

#include "engine/launched_engine.h"

namespace glovebox::engine {

class JailEngine final : public LaunchedEngine {
 public:
  EngineKind kind() const override { return EngineKind::kJail; }

 protected:
  void describe(Features& features) const override {
    features.mounts = true;
    features.terminal = true;
  }
};

}  // namespace glovebox::engine
