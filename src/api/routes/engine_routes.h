// The engines of this server: what each can do, how strong its walls are here, and why one cannot
// be used.
#pragma once

#include <optional>
#include <span>

#include "http/message.h"
#include "model/wall.h"
#include "node/runs/run_service.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"

namespace glovebox::api {

class EngineRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    const node::RunService& node;
    const EngineKind& usual;
    const std::optional<Grade>& min_grade;  // the administrator's floor
  };
  explicit EngineRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<EngineRoutes>> rows();

  Task<http::Response> list_engines(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
