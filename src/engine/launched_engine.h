// The part that engines have in common whose sandboxes a launcher makes.
#pragma once

#include "engine/engine.h"
#include "engine/launcher_client.h"

namespace glovebox::engine {

class LaunchedEngine : public Engine {
 public:
  Result<std::unique_ptr<Instance>> begin_create(const SandboxSpec& spec,
                                                 NetworkStage network) override;
  Result<> finish_create(Instance& instance) override;
  Result<Features> probe() override;

 protected:
  virtual void describe(Features& features) const = 0;
};

}  // namespace glovebox::engine
