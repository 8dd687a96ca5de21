// process.Process/Start and Connect of E2B's agent: a process, new or running, and its output as a
// stream of events. The client may leave at any time; the process keeps running.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/task.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/envd/process_json.h"
#include "dialects/e2b/envd/process_registry.h"
#include "http/message.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "sessions/processes/process_starter.h"
#include "sessions/sessions.h"

namespace glovebox::e2b {

class ProcessStartRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    AgentAccess& access;
    ProcessRegistry& registry;
    sessions::ProcessStarter& starter;
    const sessions::Sessions& sessions;
    routing::Worker& worker;
  };
  explicit ProcessStartRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ProcessStartRoutes>> rows();

  Task<http::Response> start(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> connect(http::Request& request, http::ResponseWriter& writer);

 private:
  using Followed = tl::expected<std::shared_ptr<Follower>, ConnectError>;

  asio::awaitable<Followed> start_and_follow(http::Request& request,
                                             std::shared_ptr<node::Session> session);
  node::ProcessSpec spec_of(const node::Session& session, StartRequest start, std::string user,
                            std::string cwd,
                            std::optional<std::chrono::milliseconds> timeout) const;

  const Dependencies deps_;
};

}  // namespace glovebox::e2b
