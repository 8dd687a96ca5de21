// Serves clients' requests about sandboxes: take, destroy, freeze, measure, lend the network, and
// hand over the sessions of a server that has gone. Creating one is SandboxTable::create().
#pragma once

#include "launcher/sandbox/sandbox_maker.h"
#include "launcher/server/client_connections.h"
#include "launcher/server/sandbox_table.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

class SandboxRequests {
 public:
  SandboxRequests(SandboxMaker& maker, ClientConnections& clients, SandboxTable& sandboxes)
      : maker_(maker), clients_(clients), sandboxes_(sandboxes) {}

  void take(Client& client, const wire::TakeSandbox& request);
  void destroy(Client& client, const SandboxId& id);
  // Ends the call in a reusable sandbox, and prepares the sandbox for the next.
  void recycle(Client& client, const wire::RecycleSandbox& request, std::vector<UniqueFd> fds);
  void freeze(Client& client, const wire::FreezeSandbox& request);
  void measure(Client& client, const wire::MeasureSandbox& request);
  void measure_host(Client& client, std::uint32_t seq);
  void lend_network(Client& client, const wire::LendNetwork& request);
  // All sessions without a client become this one's at once; they are sent as fast as it reads.
  void list(Client& client, std::uint32_t seq);
  void continue_listing(Client& client);

 private:
  // Null: refused.
  SandboxRecord* find_session(Client& client, const SandboxId& id, std::uint32_t seq);

  SandboxMaker& maker_;
  ClientConnections& clients_;
  SandboxTable& sandboxes_;
};

}  // namespace glovebox::launcher
