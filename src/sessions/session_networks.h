// Network policies of sessions: sets, changes and reads them, and restores them at the gateway
// after a restart.
//
// The gateway applies a change before it is recorded, so the answer is correct. A record that could
// not be stored is stored later.
#pragma once

#include <string>

#include "base/task.h"
#include "net/net_policy.h"
#include "node/networks/network_service.h"
#include "sessions/session_registry.h"

namespace glovebox::sessions {

class SessionNetworks {
 public:
  // All are borrowed and outlive this.
  SessionNetworks(SessionRegistry& registry, node::SessionService& service,
                  node::NetworkService& networks, net::NetCeiling ceiling)
      : registry_(registry), service_(service), networks_(networks), ceiling_(std::move(ceiling)) {}

  // kPolicy: more than the administrator allows; kConflict: the sandbox neither runs nor is paused.
  Task<> set(EntryPtr entry, net::NetPolicy policy);

  struct Reach {
    net::NetPolicy policy;
    wire::NetworkFigures figures;
  };
  // What a sandbox may reach, and what it has reached.
  Task<Reach> read(std::string project, std::string id);

  // Sends the gateway the policies of sessions that earlier servers created, also of those that may
  // reach nothing, because the gateway may not know that. Removes a policy that exceeds the
  // administrator's current ceiling. Call it once, when the launcher has reported its sandboxes.
  void restore();

 private:
  SessionRegistry& registry_;
  node::SessionService& service_;
  node::NetworkService& networks_;
  const net::NetCeiling ceiling_;
  bool is_restored_ = false;
};

}  // namespace glovebox::sessions
