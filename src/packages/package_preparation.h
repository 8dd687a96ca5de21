// Prepares a set of packages for a waiting request: finds or builds its layer, and records the
// layer with the template or snapshot that it belongs to.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "base/task.h"
#include "packages/package_service.h"
#include "snapshots/snapshot_store.h"
#include "templates/project_templates.h"

namespace glovebox::packages {

// Where the progress of a build is shown to a client. Both return false when the client is gone.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  virtual asio::awaitable<bool> on_progress(const BuildProgress& progress) = 0;
  // Nothing happened for a while: keeps the connection open.
  virtual asio::awaitable<bool> on_idle() = 0;
};

class PackagePreparation {
 public:
  // All are borrowed and outlive this.
  PackagePreparation(asio::io_context& io, PackageService& packages,
                     templates::ProjectTemplates& templates, snapshots::SnapshotStore& snapshots)
      : io_(io), packages_(packages), templates_(templates), snapshots_(snapshots) {}

  // Errors as PackageService::prepare's.
  Task<PreparedPackages> prepare(PackageSetRequest request,
                                 std::shared_ptr<node::CancelFlag> cancel);
  // The same with progress; `sink` outlives the call. A client that is gone cancels it. A slow
  // client misses lines of the installer, never the beginning of a phase.
  Task<PreparedPackages> prepare(PackageSetRequest request,
                                 std::shared_ptr<node::CancelFlag> cancel, ProgressSink& sink);

 private:
  // The template or snapshot that a request is for. A template of an image keeps its image.
  struct Origin {
    explicit Origin(const PackageSetRequest& request)
        : template_id(request.definition.image.empty() ? request.definition.id : ""),
          snapshot(request.snapshot),
          kept_layer(request.kept_layer) {}
    std::string template_id;
    std::string snapshot;
    std::string kept_layer;
  };
  asio::awaitable<void> record_layer(Origin origin, std::string layer);

  asio::io_context& io_;
  PackageService& packages_;
  templates::ProjectTemplates& templates_;
  snapshots::SnapshotStore& snapshots_;
};

}  // namespace glovebox::packages
