// Snapshots: POST /v1/sandboxes/{id}/snapshots and /v1/snapshots.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "sessions/session_snapshots.h"
#include "snapshots/snapshot_store.h"
#include "templates/project_templates.h"

namespace glovebox::api {

class SnapshotRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    sessions::SessionSnapshots& session_snapshots;
    snapshots::SnapshotStore& snapshots;
    templates::ProjectTemplates& templates;
  };
  explicit SnapshotRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<SnapshotRoutes>> rows();

  Task<http::Response> create_snapshot(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_snapshots(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_snapshot(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> delete_snapshot(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
