// /v1/sandboxes: persistent sandboxes (sessions), from their creation to their end.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/sandbox_creation.h"
#include "routing/worker.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_registry.h"
#include "store/store.h"

namespace glovebox::api {

class SandboxRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    routing::SandboxCreation& creation;
    store::Store& store;
    sessions::SessionRegistry& registry;
    sessions::SessionLifecycle& lifecycle;
    routing::LargeResponses& responses;
    routing::Worker& worker;
  };
  explicit SandboxRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<SandboxRoutes>> rows();

  Task<http::Response> create_sandbox(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_sandboxes(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_sandbox(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> delete_sandbox(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> change_sandbox(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> pause_sandbox(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> resume_sandbox(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> keep_sandbox_alive(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
