// process.Process of E2B's agent for processes that run: list them, write their input, send
// signals, resize terminals. Starting and following them is in process_start_routes.h.
#pragma once

#include <boost/json.hpp>
#include <memory>
#include <span>

#include "base/task.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/envd/process_json.h"
#include "dialects/e2b/envd/process_registry.h"
#include "http/message.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "sessions/processes/input_pump.h"

namespace glovebox::e2b {

class ProcessRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    AgentAccess& access;
    ProcessRegistry& registry;
    sessions::InputPumps& inputs;
    routing::Worker& worker;
  };
  explicit ProcessRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ProcessRoutes>> rows();

  Task<http::Response> list(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> send_input(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> stream_input(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> close_stdin(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> send_signal(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> update(http::Request& request, http::ResponseWriter& writer);

 private:
  using Done = tl::expected<void, ConnectError>;
  struct Target {
    boost::json::value message;
    node::ProcessInfo process;
  };

  // The process if it is running.
  tl::expected<node::ProcessInfo, ConnectError> find_selected(const node::Session& session,
                                                              const ProcessSelector& selector);
  tl::expected<Target, ConnectError> find_target(const http::Request& request,
                                                 const node::Session& session);
  asio::awaitable<Done> write_input(std::shared_ptr<node::Session> session,
                                    node::ProcessInfo process, ProcessInput input);
  // The body of StreamInput, message by message. `request` outlives the call.
  asio::awaitable<Done> read_stream(http::Request& request, std::shared_ptr<node::Session> session);

  const Dependencies deps_;
};

}  // namespace glovebox::e2b
