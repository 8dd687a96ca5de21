// The egress gateway of one local run: a child process with the same settings as a server's
// gateway. It ends with this process.
#pragma once

#include <memory>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/net_policy.h"
#include "supervisor/process.h"
#include "wire/network/network_json.h"

namespace glovebox::cli {

class LocalGateway {
 public:
  // kPolicy: the administrator's settings do not allow this policy.
  static Result<std::unique_ptr<LocalGateway>> start(net::NetPolicy policy);
  LocalGateway(const LocalGateway&) = delete;
  LocalGateway& operator=(const LocalGateway&) = delete;
  // Ends the gateway and waits for its end.
  ~LocalGateway();

  // Hands the sandbox's sockets, which the launcher has provided, to the gateway.
  Result<> open(const SandboxId& id, std::vector<UniqueFd> sockets);
  // The network statistics of the sandbox after its end; `incomplete` if the gateway does not
  // respond.
  wire::NetworkFigures close();

 private:
  LocalGateway(net::NetPolicy policy, supervisor::Process process, UniqueFd socket)
      : policy_(std::move(policy)), process_(std::move(process)), socket_(std::move(socket)) {}
  Result<wire::GatewayReply> ask(const wire::GatewayRequest& request,
                                 const std::vector<UniqueFd>& fds);

  net::NetPolicy policy_;
  supervisor::Process process_;
  UniqueFd socket_;
  std::vector<SandboxId> opened_;  // at most one
};

}  // namespace glovebox::cli
