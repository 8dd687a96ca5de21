// /api/v1/containers: the sandboxes of the project, and the log of one.
#pragma once

#include <span>

#include "base/task.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "sessions/session_registry.h"
#include "store/store.h"

namespace glovebox::sessions_api {

class ContainerRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    store::Store& store;
    const routing::Authenticator& authenticator;
    sessions::SessionRegistry& registry;
  };
  explicit ContainerRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ContainerRoutes>> rows();

  Task<http::Response> list_containers(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_container(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> container_logs(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::sessions_api
