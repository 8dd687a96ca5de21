// This host as a place to run code: the launcher, the pools, the runs under way and the sessions.
// Everything lives on one io_context with one thread; there are no locks. Runs and calls under way
// keep the inner state alive after the Node is destroyed.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "node/layers/layer_service.h"
#include "node/networks/network_service.h"
#include "node/node_options.h"
#include "node/pools/session_pools.h"
#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "node/templates/template_service.h"

namespace glovebox::node {

class Node final : public RunService {
 public:
  // `io` outlives this object.
  Node(boost::asio::io_context& io, NodeOptions options);
  ~Node() override;

  // A connected SEQPACKET socket on which BecomeServer has already been sent. Replaces the previous
  // launcher: idle sandboxes and runs of that one are lost. Templates become known as the launcher
  // reports them; its sessions are adopted.
  void attach_launcher(UniqueFd socket);

  // A connected SEQPACKET socket of the egress gateway. Replaces the previous one.
  void attach_gateway(UniqueFd socket);

  Task<RunReport> run(RunJob job, RunSink& sink, std::shared_ptr<CancelFlag> cancel) override;
  std::vector<TemplateStatus> templates() const override;
  const TemplateStatus* find_template(std::string_view name) const override;
  NodeFigures figures() const override;

  // Which sessions wait ahead of requests; replaces what `who` wanted before.
  void set_session_pools(const std::string& who, std::vector<SessionPoolRequest> wanted);

  // Valid as long as this object.
  SessionService& sessions();
  NetworkService& networks();
  TemplateService& dynamic_templates();
  LayerService& layers();

  // New runs are refused. Waits for those under way until `deadline`, then ends them and empties
  // the pools. Sessions are disconnected, and live on.
  boost::asio::awaitable<void> drain(Clock::time_point deadline);

 private:
  struct State;
  static void check_deadlines(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::node
