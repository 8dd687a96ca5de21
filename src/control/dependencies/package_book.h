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

#include "control/clock.h"
#include "control/dependencies/build_pipeline.h"
#include "control/dependencies/build_queue.h"
#include "control/dependencies/dependency_book.h"
#include "control/dependencies/layer_memory.h"
#include "control/dependencies/layer_shelf.h"
#include "control/dependencies/set_builder.h"
#include "control/dependencies/set_templates.h"
#include "control/event_hub.h"
#include "node/layer_service.h"
#include "node/run_service.h"
#include "node/session_service.h"
#include "node/template_service.h"

namespace glovebox::control {

struct PackageBookOptions {
  bool enabled = true;
  std::string unusable;   // why the settings of the index cannot be used; empty: they can
  std::string pip_index;  // as they may be shown
  std::string npm_index;
  std::string architecture;
  std::string boot_id;
  // What changes with the interpreter of the host, for the key of a wish.
  std::function<std::string(PackageManager)> interpreter_mark = [](PackageManager) { return ""; };
  std::chrono::milliseconds resolve_ttl{};
  std::chrono::milliseconds failure_ttl{};
  std::chrono::milliseconds check_every{};
  std::uint64_t disk_ceiling = 0;
  std::uint32_t max_builds = 2;
  std::chrono::milliseconds refresh_every{3'000};
  std::chrono::milliseconds upkeep_every{30'000};
  SetTemplatesOptions templates{};
  std::function<std::int64_t()> now_ms = wall_clock_ms;
  // Who was made with a layer and is to stay what it was: "template NAME". Empty: nobody.
  std::function<std::string(const std::string& layer)> pinned_by = [](const auto&) { return ""; };
};

// What the book stands on; all of it lives longer.
struct PackageBookPlace {
  asio::io_context& io;
  node::RunService& node;
  node::SessionService& sessions;
  node::TemplateService& templates;
  node::LayerService& layers;
  BuildPipeline& pipeline;
  EventHub& events;
};

class PackageBook final : public DependencyBook {
 public:
  PackageBook(PackageBookPlace place, PackageBookOptions options);

  // Looks after what is idle, from now on until stop().
  void begin();
  // A launcher was attached: what it has is asked for again.
  void launcher_attached() { memory_.expire(); }
  // Builds end; nothing begins any more.
  void stop();

  Task<SetMade> prepare(SetWish wish, OnBuildWord say,
                        std::shared_ptr<node::CancelFlag> cancel) override;
  Task<std::vector<LayerView>> list(std::string project) override;
  Task<LayerView> find(std::string project, std::string id) override;
  Task<> remove(std::string id) override;
  Task<PruneReport> prune(PruneWish wish) override;
  Task<CheckReport> check(std::string id) override;
  DependencyFigures figures() const override;

 private:
  // A wish, looked at: where it is resolved, and what it is called.
  struct Plan {
    SetPlace place;
    std::string spec;
    std::string asked;
    bool is_locked = false;
  };
  struct Layer {
    std::string id;
    bool built = false;
  };
  Result<Plan> plan_for(const SetWish& wish) const;
  Task<Layer> layer_for(const SetWish& wish, const Plan& plan, OnBuildWord say,
                        std::shared_ptr<node::CancelFlag> cancel);
  // One that was kept for the wish, if it is there and of this host's interpreter.
  Task<bool> can_be_kept(const SetWish& wish, const Plan& plan);
  // Its time is over: the index is asked while the old layer is used. Nobody waits for it, and what
  // goes wrong is told as any build's.
  void resolve_behind(const SetWish& wish, const Plan& plan);
  Task<std::string> resolve_and_warm(SetWish wish, Plan plan, OnBuildWord say,
                                     std::shared_ptr<node::CancelFlag> cancel);
  static SetWork work_for(const SetWish& wish, const Plan& plan);
  BuildStory::Projects askers_of(const std::string& spec) const;
  LayerView view_for(const LayerMemory::Known& known, const std::string& project) const;
  Task<std::string> build(const SetWish& wish, const Plan& plan, OnBuildWord say,
                          std::shared_ptr<node::CancelFlag> cancel);
  // Whether it may be used.
  Task<bool> looked_at(std::string id, std::string project, OnBuildWord say,
                       std::shared_ptr<node::CancelFlag> cancel);
  Task<> note_project(std::string id, std::string spec, std::string project);
  Task<std::string> full_id(std::string project, std::string id);
  static asio::awaitable<void> upkeep(PackageBook& self);

  asio::io_context& io_;
  node::RunService& node_;
  PackageBookOptions options_;
  LayerMemory memory_;
  SetTemplates templates_;
  LayerShelf shelf_;
  SetBuilder builder_;
  BuildQueue builds_;
  asio::steady_timer timer_;
  // Specs that were resolved behind a use and did not come to anything yet: not again before.
  std::map<std::string, std::int64_t> not_before_;
  bool stopped_ = false;
};

}  // namespace glovebox::control
