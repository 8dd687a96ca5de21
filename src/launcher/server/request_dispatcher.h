// Reads clients' requests and hands each to the class that serves it. A message that cannot be
// decoded ends the connection. Requests for sandboxes are queued: takes and destroys are quick and
// are served before them.
#pragma once

#include <cstddef>
#include <limits>

#include "launcher/server/client_connections.h"
#include "launcher/server/layer_requests.h"
#include "launcher/server/sandbox_requests.h"
#include "launcher/server/sandbox_table.h"
#include "launcher/server/template_requests.h"

namespace glovebox::launcher {

class RequestDispatcher {
 public:
  RequestDispatcher(ClientConnections& clients, SandboxTable& table, SandboxRequests& sandboxes,
                    TemplateRequests& templates, LayerRequests& layers)
      : clients_(clients),
        table_(table),
        sandboxes_(sandboxes),
        templates_(templates),
        layers_(layers) {}

  // Serves what is waiting in a client's socket: a bounded number of requests, or, of a client that
  // has hung up, all.
  void serve_some(Client& client);
  void serve_all(Client& client);
  // Whether its requests may be read now; else its socket fills up.
  static bool may_read(const Client& client);

  bool has_pending_creates() const;
  // Begins one sandbox, taking the clients in turn.
  void create_next();

 private:
  void serve(Client& client, std::size_t max_requests);
  bool serve_one(Client& client);
  void dispatch(Client& client, wire::LauncherRequest request, std::vector<UniqueFd> fds);

  ClientConnections& clients_;
  SandboxTable& table_;
  SandboxRequests& sandboxes_;
  TemplateRequests& templates_;
  LayerRequests& layers_;
};

}  // namespace glovebox::launcher
