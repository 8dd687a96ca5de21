// E2B's templates, as far as clients use them without building any: which there are, whether one
// exists, and the removal of a template or a snapshot. Templates are made by the server's
// administrator or by POST /v1/templates (docs/templates.md), not over this protocol.
#pragma once

#include <span>

#include "base/task.h"
#include "dialects/e2b/control/template_names.h"
#include "http/message.h"
#include "node/runs/run_service.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "snapshots/snapshot_store.h"
#include "templates/project_templates.h"
#include "templates/template_watcher.h"

namespace glovebox::e2b {

class TemplateRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    const node::RunService& node;
    templates::ProjectTemplates& templates;
    templates::TemplateWatcher& template_watcher;
    snapshots::SnapshotStore& snapshots;
    const TemplateNames& names;
  };
  explicit TemplateRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<TemplateRoutes>> rows();

  Task<http::Response> list(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> find_alias(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> remove(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::e2b
