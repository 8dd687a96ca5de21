// The egress gateway of one run without a server: a child of this program, with the administrator's
// settings as a server would have them, which ends with it.
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
  // kPolicy: the administrator does not allow that much.
  static Result<std::unique_ptr<LocalGateway>> start(net::NetPolicy policy);
  LocalGateway(const LocalGateway&) = delete;
  LocalGateway& operator=(const LocalGateway&) = delete;
  // Waits until it is gone.
  ~LocalGateway();

  // The sandbox's own sockets, as the launcher lends them.
  Result<> open(const SandboxId& id, std::vector<UniqueFd> sockets);
  // What the sandbox did, when it is over. Incomplete if the gateway does not say.
  wire::NetworkFigures close();

 private:
  LocalGateway(net::NetPolicy policy, supervisor::Process process, UniqueFd socket)
      : policy_(std::move(policy)), process_(std::move(process)), socket_(std::move(socket)) {}
  Result<wire::GatewayReply> ask(const wire::GatewayRequest& request,
                                 const std::vector<UniqueFd>& fds);

  net::NetPolicy policy_;
  supervisor::Process process_;
  UniqueFd socket_;
  std::vector<SandboxId> opened_;  // the one that was
};

}  // namespace glovebox::cli
