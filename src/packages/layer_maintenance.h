// Keeps the layers in order: compares them with their digests, drops what is asked for or too much,
// never one in use, and tells of it. Templates of ours that nobody uses make way.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "events/event_hub.h"
#include "node/runs/run_service.h"
#include "packages/builds/build_pipeline.h"
#include "packages/builds/build_queue.h"
#include "packages/layer_index.h"
#include "packages/package_service.h"
#include "packages/package_set_templates.h"

namespace glovebox::packages {

struct LayerShelfOptions {
  std::string boot_id;
  std::chrono::milliseconds check_every{};  // zero: only after a boot
  std::uint64_t disk_ceiling = 0;           // zero: none
  // For sandboxes that end: their layer is in use until they have.
  std::chrono::milliseconds drop_within{2'000};
  std::function<std::int64_t()> now_ms;
  // Who was made with a layer and is to be what it was, "template NAME"; empty: nobody.
  std::function<std::string(const std::string& layer)> pinned_by;
};

class LayerMaintenance {
 public:
  LayerMaintenance(asio::io_context& io, node::RunService& node, LayerIndex& memory,
             PackageSetTemplates& templates, BuildPipeline& pipeline, events::EventHub& events,
             LayerShelfOptions options);

  enum class Due : std::uint8_t {
    kNo,
    kSoon,  // its time has come; it may be used meanwhile
    kNow,   // the host has been started since: it must not be used before
  };
  Due check_due(const LayerIndex::Known& known) const;
  // Those who ask for the same share one. One that is not intact is marked, and dropped if it can
  // be. kNotFound; else as BuildPipeline::digest_of's.
  Task<CheckReport> check(std::string id, std::string project, OnBuildProgress say,
                          std::shared_ptr<node::CancelFlag> cancel);
  // The same, and nobody waits for it.
  void check_behind(const std::string& id);

  // As in the options, of one that can be used.
  std::string pinned_by(const LayerIndex::Known& known) const;
  // kConflict: it is in use, or somebody was made with it; kNotFound. `why` is for those who are
  // told.
  Task<> drop(std::string id, std::string why);
  // What is corrupt, and what is above the ceiling; `but` is in use in a moment.
  Task<> tidy(std::string but);
  Task<PruneReport> prune(PruneRequest request);

  std::uint64_t corrupt() const { return corrupt_; }
  void stop() { checks_.stop(); }

 private:
  Task<std::string> compare(std::string id, OnBuildProgress say,
                            std::shared_ptr<node::CancelFlag> cancel);
  Task<> found_corrupt(std::string id, std::string found);
  std::string reading_template(const LayerIndex::Known& known) const;

  asio::io_context& io_;
  node::RunService& node_;
  LayerIndex& index_;
  PackageSetTemplates& templates_;
  BuildPipeline& pipeline_;
  events::EventHub& events_;
  LayerShelfOptions options_;
  BuildQueue checks_;
  std::uint64_t corrupt_ = 0;
};

}  // namespace glovebox::packages
