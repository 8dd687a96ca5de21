// /api/v1/sessions: created, shown, and ended.
#pragma once

#include <span>

#include "base/task.h"
#include "dialects/sessions_api/executions.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "routing/sandbox_creation.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_registry.h"
#include "store/session_record.h"

namespace glovebox::sessions_api {

class SessionRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    sessions::SessionRegistry& registry;
    sessions::SessionLifecycle& lifecycle;
    routing::SandboxCreation& creation;
    const Executions& executions;
  };
  explicit SessionRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<SessionRoutes>> rows();

  Task<http::Response> create_session(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_session(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> delete_session(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> session_status(http::Request& request, http::ResponseWriter& writer);

 private:
  Task<store::SessionRecord> record_of(const http::Request& request);

  const Dependencies deps_;
};

}  // namespace glovebox::sessions_api
