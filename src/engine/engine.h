// What every engine can do: say what works on this host, and make a sandbox. Callers ask for
// features; no caller switches on a name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "model/outcome.h"
#include "model/sandbox_spec.h"
#include "model/wall.h"

namespace glovebox::engine {

// What this engine's sandboxes are like on this host, as found by making one.
struct Features {
  WallSet walls;
  Grade grade = Grade::kProcess;
  bool mounts = false;
  bool terminal = false;
};

// A sandbox that exists. Destroyed with this object, at the latest.
class Instance {
 public:
  virtual ~Instance() = default;
  virtual const WallSet& walls() const = 0;
  // The sandbox's own socket: guest frames, one per message.
  virtual int link() const = 0;
  // Of one that was made with a network: what the gateway needs of it
  // (wire/gateway/gateway_messages.h).
  struct Lent {
    SandboxId id;
    std::vector<UniqueFd> sockets;
  };
  virtual Result<Lent> lend_network() = 0;
  // Readable when the sandbox has ended by itself or was ended from outside; then ask ended().
  virtual int event_fd() const = 0;

  struct Ended {
    EndReason reason = EndReason::kExited;
    Usage usage;
  };
  virtual Result<Ended> ended() = 0;     // waits for it
  virtual Result<> begin_destroy() = 0;  // asks for it; ended() tells when it is done
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineKind kind() const = 0;
  std::string_view name() const { return engine_name(kind()); }
  // What works on this host, or why nothing does.
  virtual Result<Features> probe() = 0;
  // Begins; what the caller sends on link() waits there until the sandbox is ready.
  virtual Result<std::unique_ptr<Instance>> begin_create(const SandboxSpec& spec,
                                                         NetworkStage network) = 0;
  // Waits until the walls stand. An instance whose creation failed is of no use.
  virtual Result<> finish_create(Instance& instance) = 0;
};

}  // namespace glovebox::engine
