// Sets of packages: resolved and installed once, kept as layers, and made into templates with a
// zygote of their own for each project. This is the interface for the routes; build_pipeline.h
// builds, and layer_index.h keeps the results.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "model/dependencies.h"
#include "model/template.h"
#include "node/runs/run_job.h"
#include "packages/builds/build_progress.h"
#include "packages/package_figures.h"

namespace glovebox::packages {

// The packages that a run, a session or a template needs.
struct PackageSetRequest {
  std::string project;
  std::string key_id;
  // The template of its sandboxes. `id`: of a template that a project made; empty: derived from
  // everything else here, so that equal requests share a template. The service fills in `layers`.
  // The zygote imports the base's preload, then this preload, then the set's own.
  TemplateDefinition definition;
  Dependencies dependencies;
  // The layer that a template or snapshot was made with: used as long as it exists and is intact,
  // even if the index has newer versions. Empty: use the layer index.
  std::string kept_layer{};
  std::string snapshot{};  // the snapshot whose packages these are; or empty
  // Resolve again now, even if the cached result is fresh, and fail if that fails. Ignored for a
  // kept layer and for a lock, which determines its artefacts.
  bool resolve_now = false;
};

struct PreparedPackages {
  std::string template_id;  // the node's id for it
  std::string layer_id;
  bool built = false;  // built for this request or a concurrent one
  std::chrono::milliseconds waited{0};
  // Why no warm interpreter is ready, so that runs start cold. Empty: one is ready.
  std::string cold_because{};
  // Keeps the template known until the run is over or the session has been made.
  std::shared_ptr<void> hold{};
};

struct PruneRequest {
  // Remove layers unused for at least this long; zero: all that are not in use.
  std::chrono::seconds unused_for{0};
  bool dry_run = false;
};
struct PruneReport {
  std::vector<std::string> removed;
  std::uint64_t bytes = 0;
};

struct CheckReport {
  bool intact = false;
  std::string expected;
  std::string found;  // the digest
};

class PackageService {
 public:
  virtual ~PackageService() = default;

  // The template of the set, ready to run warm: built, checked, defined and started if needed.
  // kInvalidArgument: an invalid request, or the installer failed, with its message; kTimeout: the
  // build took too long; kPolicy: disabled by the administrator (deps.enabled);
  // kResourceExhausted: too many builds wait, or the disk is full; kUnavailable: no launcher or
  // gateway, or cancelled. `report` may be empty; it is not called after this returns.
  virtual Task<PreparedPackages> prepare(PackageSetRequest request, OnBuildProgress report,
                                         std::shared_ptr<node::CancelFlag> cancel) = 0;

  // The layers of one project ("*": all), most recently used first.
  virtual Task<std::vector<LayerView>> list(std::string project) = 0;
  // By its id or a prefix of at least eight characters. kNotFound.
  virtual Task<LayerView> find(std::string project, std::string id) = 0;
  virtual Task<> remove(std::string id) = 0;  // kConflict: it is in use
  virtual Task<PruneReport> prune(PruneRequest request) = 0;
  // Verifies its digest. A damaged layer is taken out of use and built again on the next request.
  virtual Task<CheckReport> check(std::string id) = 0;
  // Forgets the templates of a layer or of an image that are idle; returns their number.
  virtual std::size_t release_templates(const std::string& /*layer*/) { return 0; }
  virtual PackageFigures figures() const { return {}; }
};

}  // namespace glovebox::packages
