// Creates a session for a request, as POST /v1/sandboxes does: checks the key's limits, prepares
// the packages first, and stops when the client disconnects. Every dialect creates its sessions
// here.
#pragma once

#include <optional>

#include "base/task.h"
#include "http/message.h"
#include "images/image_service.h"
#include "packages/package_preparation.h"
#include "routing/authenticator.h"
#include "runs/metrics.h"
#include "sessions/session_creator.h"
#include "sessions/session_registry.h"
#include "store/key_usage.h"
#include "templates/project_templates.h"
#include "templates/template_watcher.h"

namespace glovebox::routing {

struct CreationResult {
  std::optional<sessions::CreatedSession> made;  // nothing: see refusal
  http::Response refusal;
};

class SandboxCreation {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    sessions::SessionCreator& creator;
    const sessions::SessionRegistry& registry;
    const templates::ProjectTemplates& templates;
    templates::TemplateWatcher& watcher;
    packages::PackagePreparation& packages;
    images::ImageService& images;
    store::KeyUsage& usage;
    runs::Metrics& metrics;
  };
  explicit SandboxCreation(Dependencies dependencies) : deps_(dependencies) {}

  asio::awaitable<CreationResult> create(http::Request& request, Caller caller,
                                         sessions::CreateRequest wanted);

 private:
  // Replaces a template that refers to a snapshot by that snapshot.
  void resolve_snapshot_template(const std::string& project, sessions::CreateRequest& wanted) const;
  // Of the request, or of its template or snapshot. `wanted` outlives the call.
  Task<> find_image(std::string project, sessions::CreateRequest& wanted) const;
  http::Response counted(http::Response refusal, const std::string& project);

  const Dependencies deps_;
};

}  // namespace glovebox::routing
