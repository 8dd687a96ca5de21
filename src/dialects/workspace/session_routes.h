// /workspace/se/session/{session_id} and /status: a session created under the client's own id,
// shown, and ended.
#pragma once

#include <span>

#include "base/task.h"
#include "dialects/workspace/client_sessions.h"
#include "dialects/workspace/settings.h"
#include "http/message.h"
#include "routing/route_table.h"
#include "routing/sandbox_creation.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_registry.h"

namespace glovebox::workspace {

class SessionRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const ClientSessions& clients;
    const sessions::SessionRegistry& registry;
    sessions::SessionLifecycle& lifecycle;
    routing::SandboxCreation& creation;
  };
  SessionRoutes(Dependencies dependencies, const Settings& settings)
      : deps_(dependencies), settings_(settings) {}

  static std::span<const routing::RouteRow<SessionRoutes>> rows();

  Task<http::Response> create_session(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> delete_session(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> session_status(http::Request& request, http::ResponseWriter& writer);

 private:
  http::Response answer(const ClientSession& session, const store::SessionRecord& record,
                        int status) const;

  const Dependencies deps_;
  const Settings& settings_;
};

}  // namespace glovebox::workspace
