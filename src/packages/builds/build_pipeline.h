// The sandboxes of a build, one after the other: packages are fetched where there is a network and
// no code of theirs runs, built and installed where there is none, and put into a layer where
// nothing runs but our own agent. Moves bytes between them, bounded, and never looks into them.
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
  std::chrono::milliseconds timeout{};  // of one build, all its sandboxes together
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t max_layer_bytes = 0;
};

struct BuildRequest {
  PackageManager manager = PackageManager::kPip;
  std::string template_name;  // what its sandboxes are made of: the administrator's
  Dependencies dependencies;
  std::string project;  // for whom, for shares of the host
};

// What a set came to, and the sandbox that holds it, which goes with this.
struct Fetched {
  std::vector<Artefact> artefacts;  // sorted by name
  std::string interpreter;          // "cpython-3.11", "node-20"
  class Holder;
  std::shared_ptr<Holder> holder;
};

class BuildPipeline {
 public:
  virtual ~BuildPipeline() = default;
  // kInvalidArgument with the installer's own words when it says no; kTimeout; others as
  // SessionService::create_session's. Source packages have been built when this returns.
  virtual Task<Fetched> fetch(BuildRequest request, OnBuildProgress say,
                              std::shared_ptr<node::CancelFlag> cancel) = 0;
  // Installs it and makes layer `id` of it, which is kept: the record has sizes, digest and `note`.
  // The time of the whole build goes on from where fetch() left it. kConflict: there is one of this
  // id by now. After an error nothing is left of it.
  virtual Task<LayerRecord> make_layer(Fetched fetched, std::string id, std::string note,
                                       OnBuildProgress say,
                                       std::shared_ptr<node::CancelFlag> cancel) = 0;
  // Reads a kept layer in a sandbox of its own.
  virtual Task<std::string> digest_of(std::string id, std::string template_name,
                                      std::shared_ptr<node::CancelFlag> cancel) = 0;
};

// Everything is borrowed and outlives it; a call under way when it goes ends its sandboxes with the
// server. While a call is under way it has `cancel`'s on_cancel() for itself: one flag, one build.
// `networks`, if there is one, tells what a build could not reach.
struct BuildDependencies {
  asio::io_context& io;
  node::SessionService& sessions;
  node::LayerService& layers;
  node::NetworkService* networks = nullptr;
};
std::unique_ptr<BuildPipeline> make_build_pipeline(BuildDependencies place, BuildOptions options);

}  // namespace glovebox::packages
