// Sets of packages: resolved and installed once, kept as layers, and made into templates with a
// zygote of their own for each project. What the routes use; the building itself is
// build_pipeline's, the remembering layer_memory's.
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

// What a run, a session or a template wants.
struct PackageSetRequest {
  std::string project;
  std::string key_id;
  // What sandboxes of it are made of. `id`: of a template that a project made; empty: one is
  // derived from everything else here, so that the same request has the same template. Its `layers`
  // are filled in here; its preload is what the template's zygote imports besides its base's, and
  // the set's own come after them.
  TemplateDefinition definition;
  Dependencies dependencies;
  // What a template or a snapshot that was made with these packages came to then: used as long as
  // it is there and intact, whatever the index has by now. Empty: as remembered.
  std::string kept_layer{};
  std::string snapshot{};  // whose packages they are, as they are; or empty
  // The index is asked now, however short ago it was, and an error is an error. Not if a layer is
  // kept, and not of a lock, which says itself what it comes to.
  bool resolve_now = false;
};

struct PreparedPackages {
  std::string template_id;  // as the node calls it
  std::string layer_id;
  bool built = false;  // it was built for this, or for somebody at the same time
  std::chrono::milliseconds waited{0};
  // Why no interpreter waits with the packages imported: runs of it are cold. Empty: one does.
  std::string cold_because{};
  // Keeps the template known until the run is over or the session has been made.
  std::shared_ptr<void> hold{};
};

struct PruneRequest {
  // Those unused for at least so long; zero: all that are not in use.
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

  // The template of the set, ready to be run warm: built, checked, defined and started if it is not
  // there. kInvalidArgument: what was asked for is wrong, or the installer says no, with its words;
  // kTimeout: the build took too long; kPolicy: the administrator wants none (deps.enabled);
  // kResourceExhausted: too many builds wait, or the disk is full; kUnavailable: no launcher or
  // gateway; kCancelled-like kUnavailable when `cancel` was. `say` may be empty; it is called as
  // things happen, and not after this returns.
  virtual Task<PreparedPackages> prepare(PackageSetRequest request, OnBuildProgress say,
                                std::shared_ptr<node::CancelFlag> cancel) = 0;

  // Of one project ("*": of all), the most recently used first.
  virtual Task<std::vector<LayerView>> list(std::string project) = 0;
  // By its id or the first eight or more characters of it. kNotFound.
  virtual Task<LayerView> find(std::string project, std::string id) = 0;
  virtual Task<> remove(std::string id) = 0;  // kConflict: it is in use
  virtual Task<PruneReport> prune(PruneRequest request) = 0;
  // Compares it with its digest. One that is not intact is taken out of use, and built again when
  // somebody asks for it.
  virtual Task<CheckReport> check(std::string id) = 0;
  virtual PackageFigures figures() const { return {}; }
};

}  // namespace glovebox::packages
