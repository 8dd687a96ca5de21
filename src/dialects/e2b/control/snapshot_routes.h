// E2B's snapshots: taken and listed; and forks, which are new sandboxes of a snapshot that is
// removed again. A snapshot keeps the files, not the memory and the processes.
#pragma once

#include <span>

#include "base/task.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/control/template_names.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "routing/sandbox_creation.h"
#include "sessions/session_registry.h"
#include "sessions/session_snapshots.h"
#include "snapshots/snapshot_store.h"

namespace glovebox::e2b {

class SnapshotRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    routing::SandboxCreation& creation;
    sessions::SessionRegistry& registry;
    sessions::SessionSnapshots& session_snapshots;
    snapshots::SnapshotStore& snapshots;
    const TemplateNames& names;
    const SandboxJson& sandbox_json;
  };
  explicit SnapshotRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<SnapshotRoutes>> rows();

  Task<http::Response> create(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> fork(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::e2b
