// Implements PackageService with the layer index, the build queue, layer maintenance and the
// templates of package sets. Lives as long as the io_context runs.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/wall_clock.h"
#include "events/event_hub.h"
#include "node/layers/layer_service.h"
#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "node/templates/template_service.h"
#include "packages/builds/build_pipeline.h"
#include "packages/builds/build_queue.h"
#include "packages/layer_index.h"
#include "packages/layer_maintenance.h"
#include "packages/package_service.h"
#include "packages/package_set_builder.h"
#include "packages/package_set_templates.h"

namespace glovebox::packages {

struct PackageServiceOptions {
  bool enabled = true;
  // Whether projects share layers and builds. If not, no project can find out from its own requests
  // what others have built.
  bool shared = true;
  std::string unusable;   // why the index settings are unusable; empty: they are fine
  std::string pip_index;  // without credentials
  std::string npm_index;
  std::string architecture;
  std::string boot_id;
  // Identifies the interpreter of the host; part of the spec key.
  std::function<std::string(PackageManager)> interpreter_mark = [](PackageManager) { return ""; };
  std::chrono::milliseconds resolve_ttl{};
  std::chrono::milliseconds failure_ttl{};
  std::chrono::milliseconds check_every{};
  std::uint64_t disk_ceiling = 0;
  std::size_t most_layers = 3'000;  // as LayerMaintenanceOptions
  std::uint32_t max_builds = 2;
  std::chrono::milliseconds refresh_every{3'000};
  std::chrono::milliseconds upkeep_every{30'000};
  PackageSetTemplatesOptions templates{};
  std::function<std::int64_t()> now_ms = wall_clock_ms;
  // The template or snapshot that pins a layer, as "template NAME". Empty: none.
  std::function<std::string(const std::string& layer)> pinned_by = [](const auto&) { return ""; };
};

// The services it uses; all outlive it.
struct PackageServiceDependencies {
  asio::io_context& io;
  node::RunService& node;
  node::SessionService& sessions;
  node::TemplateService& templates;
  node::LayerService& layers;
  BuildPipeline& pipeline;
  events::EventHub& events;
};

class PackageLayerService final : public PackageService {
 public:
  PackageLayerService(PackageServiceDependencies services, PackageServiceOptions options);

  // Starts the periodic upkeep, which runs until stop().
  void begin();
  // A launcher was attached: its layers are listed again.
  void launcher_attached() { index_.expire(); }
  // Cancels builds; further requests fail.
  void stop();

  Task<PreparedPackages> prepare(PackageSetRequest request, OnBuildProgress report,
                                 std::shared_ptr<node::CancelFlag> cancel) override;
  Task<std::vector<LayerView>> list(std::string project) override;
  Task<LayerView> find(std::string project, std::string id) override;
  Task<> remove(std::string id) override;
  Task<PruneReport> prune(PruneRequest request) override;
  Task<CheckReport> check(std::string id) override;
  std::size_t release_templates(const std::string& layer) override {
    return templates_.release(layer);
  }
  PackageFigures figures() const override;

 private:
  // A validated request: what it is resolved for, and its spec key.
  struct Plan {
    PackageSetTarget target;
    std::string spec;
    std::string asked;
    bool is_locked = false;
  };
  struct Layer {
    std::string id;
    bool built = false;
  };
  Result<Plan> plan_for(const PackageSetRequest& request) const;
  Task<Layer> layer_for(const PackageSetRequest& request, const Plan& plan, OnBuildProgress report,
                        std::shared_ptr<node::CancelFlag> cancel);
  // Whether request.kept_layer is usable and matches the interpreter of this host.
  Task<bool> can_be_kept(const PackageSetRequest& request, const Plan& plan);
  // Resolves an expired set again in the background while the old layer is used. Errors are
  // published like those of any build.
  void resolve_in_background(const PackageSetRequest& request, const Plan& plan);
  Task<std::string> resolve_and_warm(PackageSetRequest request, Plan plan, OnBuildProgress report,
                                     std::shared_ptr<node::CancelFlag> cancel);
  static PackageSetWork work_for(const PackageSetRequest& request, const Plan& plan);
  BuildEvents::Projects askers_of(const std::string& spec) const;
  LayerView view_for(const LayerIndex::Known& known, const std::string& project) const;
  Task<std::string> build(const PackageSetRequest& request, const Plan& plan,
                          OnBuildProgress report, std::shared_ptr<node::CancelFlag> cancel);
  // Checks the layer if that is due. True: it may be used.
  Task<bool> is_intact(std::string id, std::string project, OnBuildProgress report,
                       std::shared_ptr<node::CancelFlag> cancel);
  Task<> record_project(std::string id, std::string spec, std::string project);
  Task<std::string> full_id(std::string project, std::string id);
  // A template of an image, which has no packages.
  Task<PreparedPackages> prepare_image(PackageSetRequest request, OnBuildProgress report,
                                       std::shared_ptr<node::CancelFlag> cancel);
  static asio::awaitable<void> upkeep(PackageLayerService& self);

  asio::io_context& io_;
  node::RunService& node_;
  PackageServiceOptions options_;
  LayerIndex index_;
  PackageSetTemplates templates_;
  LayerMaintenance maintenance_;
  PackageSetBuilder builder_;
  BuildQueue builds_;
  asio::steady_timer timer_;
  // Background resolutions that have not succeeded: by spec, the earliest time to try again.
  std::map<std::string, std::int64_t> not_before_;
  // When a project was written into a manifest: by layer, spec and project. A manifest has room for
  // few projects, so that with more of them each request would write it again.
  std::map<std::string, std::int64_t> noted_at_;
  bool stopped_ = false;
};

}  // namespace glovebox::packages
