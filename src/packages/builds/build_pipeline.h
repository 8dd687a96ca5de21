// Runs the sandboxes of a build one after the other: the first fetches packages with a network and
// without running their code, the next build and install them without a network, and the last, in
// which only our agent runs, writes the layer. The server moves bounded bytes between them and
// never parses them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "config/package_index.h"
#include "model/dependencies.h"
#include "node/layers/layer_service.h"
#include "node/networks/network_service.h"
#include "node/sessions/session_service.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {

enum class PackageManager : std::uint8_t { kPip = 1, kNpm = 2 };
const char* manager_name(PackageManager manager);  // "pip", "npm"

struct BuildOptions {
  config::PackageIndexes indexes;
  std::chrono::milliseconds timeout{};  // of one build with all its sandboxes
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t max_layer_bytes = 0;
};

struct PythonLayout {
  bool host_packages = false;  // the layer leaves the host's own packages visible
  bool own_site = false;       // it hides those below /usr/local as well
};

struct BuildRequest {
  PackageManager manager = PackageManager::kPip;
  std::string template_name;  // the administrator's template for its sandboxes
  Dependencies dependencies;
  std::string project;  // whose share of the host it uses
  PythonLayout layout;
};

// What a set resolved to, and the sandbox that holds it, which ends with this object.
struct FetchedPackages {
  std::vector<Artefact> artefacts;  // sorted by name
  std::string interpreter;          // "cpython-3.11", "node-20"
  class Holder;
  std::shared_ptr<Holder> holder;
};

class BuildPipeline {
 public:
  virtual ~BuildPipeline() = default;
  // kInvalidArgument: the installer failed, with its message; kTimeout; others as
  // SessionService::create_session's. Source packages are built when this returns.
  virtual Task<FetchedPackages> fetch(BuildRequest request, OnBuildProgress report,
                                      std::shared_ptr<node::CancelFlag> cancel) = 0;
  // Installs it and keeps it as layer `id`, with its sizes, digest and `note` in the record. The
  // deadline is that of fetch(). kConflict: a layer with this id exists by now. After an error
  // nothing is left of it.
  virtual Task<LayerRecord> make_layer(FetchedPackages fetched, std::string id, std::string note,
                                       OnBuildProgress report,
                                       std::shared_ptr<node::CancelFlag> cancel) = 0;
  // Reads a kept layer in a sandbox of its own.
  virtual Task<std::string> digest_of(std::string id, std::string template_name,
                                      std::shared_ptr<node::CancelFlag> cancel) = 0;
};

// All are borrowed and outlive the pipeline; sandboxes of a call that is still running then end
// with the server. A running call uses `cancel`'s on_cancel() exclusively: one flag, one build.
// `networks` may be null; it reports which hosts a build could not reach.
struct BuildDependencies {
  asio::io_context& io;
  node::SessionService& sessions;
  node::LayerService& layers;
  node::NetworkService* networks = nullptr;
};
std::unique_ptr<BuildPipeline> make_build_pipeline(BuildDependencies services,
                                                   BuildOptions options);

}  // namespace glovebox::packages
