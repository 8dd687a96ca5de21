// The networks of sandboxes, as the routes see them: what a session may reach is set and read, and
// what the gateway decides is reported. Everything lives on the server's one io_context.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/task.h"
#include "net/net_policy.h"
#include "wire/network/network_json.h"

namespace glovebox::node {

class NetworkService {
 public:
  virtual ~NetworkService() = default;

  virtual bool gateway_up() const = 0;
  // Of a session that is there. Returns when the gateway follows it. kUnavailable: there is no
  // gateway, and nothing has changed; kUnsupported: this host cannot give it a network.
  virtual Task<> set_network(SandboxId id, std::string tenant, net::NetPolicy policy) = 0;
  // Of a session from before this server, whatever it may reach: as soon as there is a gateway.
  virtual void restore_network(SandboxId id, std::string tenant, net::NetPolicy policy) = 0;
  // All were restored: what the gateway has besides is unknown, and is closed.
  virtual void restored_all() = 0;
  // kNotFound: it never had one.
  virtual Task<wire::NetworkFigures> read_network(SandboxId id) = 0;

  struct Decided {
    SandboxId id;
    std::string tenant;
    wire::NetDecision decision;
  };
  // What was open of one tenant's when the gateway ended: it has been opened again, and the
  // connections were cut.
  struct Restarted {
    std::string tenant;
    std::vector<SandboxId> ids;
  };
  virtual void on_decided(std::function<void(const Decided&)> call) = 0;
  virtual void on_restarted(std::function<void(const Restarted&)> call) = 0;
};

}  // namespace glovebox::node
