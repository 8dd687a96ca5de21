// Lists the templates that a caller can use, and creates one of its project's own. Every API that
// has templates answers these two requests here.
#pragma once

#include "base/task.h"
#include "http/message.h"
#include "images/image_service.h"
#include "node/runs/run_service.h"
#include "packages/package_preparation.h"
#include "routing/authenticator.h"
#include "snapshots/snapshot_store.h"
#include "templates/project_templates.h"
#include "templates/template_watcher.h"

namespace glovebox::routing {

class TemplateRequests {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const Authenticator& authenticator;
    const node::RunService& node;
    templates::ProjectTemplates& templates;
    snapshots::SnapshotStore& snapshots;
    templates::TemplateWatcher& watcher;
    packages::PackagePreparation& preparation;
    images::ImageService& images;
  };
  explicit TemplateRequests(Dependencies dependencies) : deps_(dependencies) {}

  // {"templates": [...]}: the administrator's, except those whose name a template of the project
  // has too, and then the project's.
  Task<http::Response> list(const http::Request& request) const;
  // 201 and the template. Its packages are installed first, or its image's interpreter is started:
  // a template whose packages cannot be installed is not created.
  Task<http::Response> create(http::Request& request) const;

 private:
  Task<store::TemplateRecord> create_of_snapshot(store::TemplateRecord wanted) const;
  Task<http::Response> create_of_base(http::Request& request, Caller caller,
                                      store::TemplateRecord wanted) const;
  http::Response created(const store::TemplateRecord& made) const;

  const Dependencies deps_;
};

// 409, 429 or as refuse_run(). `wait`: how long the project has to wait, if at all.
http::Response refuse_template(const Error& error, std::chrono::seconds wait = {});

}  // namespace glovebox::routing
