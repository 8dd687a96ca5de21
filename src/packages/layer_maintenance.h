// Maintains the layers: verifies their digests, removes layers on request or above the disk
// ceiling, never one in use, and publishes events about it. Idle templates of sets are released.
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

struct LayerMaintenanceOptions {
  std::string boot_id;
  std::chrono::milliseconds check_every{};  // zero: only after a boot
  std::uint64_t disk_ceiling = 0;           // zero: unlimited
  // Of all projects. The launcher keeps 4,096 layers, images included.
  std::size_t most_layers = 3'000;
  // How long to wait for sandboxes that are ending: their layer is in use until then.
  std::chrono::milliseconds drop_within{2'000};
  std::function<std::int64_t()> now_ms;
  // The template or snapshot that pins a layer, as "template NAME"; empty: none.
  std::function<std::string(const std::string& layer)> pinned_by;
};

class LayerMaintenance {
 public:
  LayerMaintenance(asio::io_context& io, node::RunService& node, LayerIndex& index,
                   PackageSetTemplates& templates, BuildPipeline& pipeline,
                   events::EventHub& events, LayerMaintenanceOptions options);

  enum class Due : std::uint8_t {
    kNo,
    kSoon,  // check_every is over; it may be used meanwhile
    kNow,   // the host was rebooted since: check it before any use
  };
  Due check_due(const LayerIndex::Known& known) const;
  // Concurrent calls for one layer share one check. A damaged layer is marked, and dropped if it is
  // not in use. kNotFound; other errors as BuildPipeline::digest_of's.
  Task<CheckReport> check(std::string id, std::string project, OnBuildProgress report,
                          std::shared_ptr<node::CancelFlag> cancel);
  // The same in the background.
  void check_in_background(const std::string& id);

  // As in the options; empty for an unusable layer.
  std::string pinned_by(const LayerIndex::Known& known) const;
  // kConflict: it is in use or pinned; kNotFound. `why` is for the log and the event.
  Task<> drop(std::string id, std::string why);
  // Drops corrupt layers, and those above the ceiling or the number; `but` is about to be used.
  Task<> tidy(std::string but);
  // Before a project builds: layers that only it uses take at most three quarters of the ceiling;
  // its longest unused ones give way. kResourceExhausted with ENOSPC: they are in use or pinned.
  static constexpr std::uint64_t kSharePercent = 75;
  Task<> keep_within_share(std::string project);
  Task<PruneReport> prune(PruneRequest request);

  std::uint64_t corrupt() const { return corrupt_; }
  void stop() { checks_.stop(); }

 private:
  Task<std::string> compare(std::string id, OnBuildProgress report,
                            std::shared_ptr<node::CancelFlag> cancel);
  Task<> found_corrupt(std::string id, std::string found);
  std::string reading_template(const LayerIndex::Known& known) const;
  bool may_give_way(const LayerIndex::Known& known) const;
  bool is_too_much(LayerIndex::TooMuch what) const;

  asio::io_context& io_;
  node::RunService& node_;
  LayerIndex& index_;
  PackageSetTemplates& templates_;
  BuildPipeline& pipeline_;
  events::EventHub& events_;
  LayerMaintenanceOptions options_;
  BuildQueue checks_;
  std::uint64_t corrupt_ = 0;
};

}  // namespace glovebox::packages
