// The book of packages (dependency_book.h) put together: what is remembered, the queue of builds,
// the layers in order and the templates of sets. Lives as long as the io_context runs.
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
  std::string unusable;   // why the settings of the index cannot be used; empty: they can
  std::string pip_index;  // as they may be shown
  std::string npm_index;
  std::string architecture;
  std::string boot_id;
  // What changes with the interpreter of the host, for the key of a request.
  std::function<std::string(PackageManager)> interpreter_mark = [](PackageManager) { return ""; };
  std::chrono::milliseconds resolve_ttl{};
  std::chrono::milliseconds failure_ttl{};
  std::chrono::milliseconds check_every{};
  std::uint64_t disk_ceiling = 0;
  std::uint32_t max_builds = 2;
  std::chrono::milliseconds refresh_every{3'000};
  std::chrono::milliseconds upkeep_every{30'000};
  PackageSetTemplatesOptions templates{};
  std::function<std::int64_t()> now_ms = wall_clock_ms;
  // Who was made with a layer and is to stay what it was: "template NAME". Empty: nobody.
  std::function<std::string(const std::string& layer)> pinned_by = [](const auto&) { return ""; };
};

// What the book stands on; all of it lives longer.
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
  PackageLayerService(PackageServiceDependencies place, PackageServiceOptions options);

  // Looks after what is idle, from now on until stop().
  void begin();
  // A launcher was attached: what it has is asked for again.
  void launcher_attached() { index_.expire(); }
  // Builds end; nothing begins any more.
  void stop();

  Task<PreparedPackages> prepare(PackageSetRequest request, OnBuildProgress say,
                        std::shared_ptr<node::CancelFlag> cancel) override;
  Task<std::vector<LayerView>> list(std::string project) override;
  Task<LayerView> find(std::string project, std::string id) override;
  Task<> remove(std::string id) override;
  Task<PruneReport> prune(PruneRequest request) override;
  Task<CheckReport> check(std::string id) override;
  PackageFigures figures() const override;

 private:
  // A request, looked at: where it is resolved, and what it is called.
  struct Plan {
    PackageSetTarget place;
    std::string spec;
    std::string asked;
    bool is_locked = false;
  };
  struct Layer {
    std::string id;
    bool built = false;
  };
  Result<Plan> plan_for(const PackageSetRequest& request) const;
  Task<Layer> layer_for(const PackageSetRequest& request, const Plan& plan, OnBuildProgress say,
                        std::shared_ptr<node::CancelFlag> cancel);
  // One that was kept for the request, if it is there and of this host's interpreter.
  Task<bool> can_be_kept(const PackageSetRequest& request, const Plan& plan);
  // Its time is over: the index is asked while the old layer is used. Nobody waits for it, and what
  // goes wrong is told as any build's.
  void resolve_behind(const PackageSetRequest& request, const Plan& plan);
  Task<std::string> resolve_and_warm(PackageSetRequest request, Plan plan, OnBuildProgress say,
                                     std::shared_ptr<node::CancelFlag> cancel);
  static PackageSetWork work_for(const PackageSetRequest& request, const Plan& plan);
  BuildEvents::Projects askers_of(const std::string& spec) const;
  LayerView view_for(const LayerIndex::Known& known, const std::string& project) const;
  Task<std::string> build(const PackageSetRequest& request, const Plan& plan, OnBuildProgress say,
                          std::shared_ptr<node::CancelFlag> cancel);
  // Whether it may be used.
  Task<bool> looked_at(std::string id, std::string project, OnBuildProgress say,
                       std::shared_ptr<node::CancelFlag> cancel);
  Task<> note_project(std::string id, std::string spec, std::string project);
  Task<std::string> full_id(std::string project, std::string id);
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
  // Specs that were resolved behind a use and did not come to anything yet: not again before.
  std::map<std::string, std::int64_t> not_before_;
  bool stopped_ = false;
};

}  // namespace glovebox::packages
