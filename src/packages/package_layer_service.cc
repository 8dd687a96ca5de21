#include "packages/package_layer_service.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "node/links/launcher_error.h"
#include "packages/layer_view.h"

namespace glovebox::packages {
namespace {

using Clock = std::chrono::steady_clock;

// A layer may turn out to be corrupt or gone just before its use; then it is built again.
constexpr int kMostTries = 3;
constexpr std::size_t kShortId = 8;
constexpr std::chrono::milliseconds kPauseBehind{60'000};

QueueOptions build_queue(const PackageServiceOptions& options) {
  QueueOptions queue;
  queue.at_once = options.max_builds;
  return queue;
}

LayerIndexOptions index_options(const PackageServiceOptions& options) {
  LayerIndexOptions index;
  index.resolve_ttl = options.resolve_ttl;
  index.failure_ttl = options.failure_ttl;
  index.refresh_every = options.refresh_every;
  index.now_ms = options.now_ms;
  return index;
}

// For each of these the launcher waits for the disk.
constexpr std::int64_t kNoteAgainMs = 600'000;
constexpr std::size_t kMostNoted = 4096;

LayerMaintenanceOptions maintenance_options(const PackageServiceOptions& options) {
  LayerMaintenanceOptions maintenance;
  maintenance.boot_id = options.boot_id;
  maintenance.check_every = options.check_every;
  maintenance.disk_ceiling = options.disk_ceiling;
  maintenance.most_layers = options.most_layers;
  maintenance.now_ms = options.now_ms;
  maintenance.pinned_by = options.pinned_by;
  return maintenance;
}

void put_after(std::vector<std::string>& list, const std::vector<std::string>& more) {
  for (const std::string& one : more) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
}

// True for "python3.11 ..." of a host and "cpython-3.12" of a layer, whose compiled modules do not
// load there. Another build of the same version does not count: a kept layer stays.
bool is_other_version(std::string_view mark, std::string_view interpreter) {
  constexpr std::string_view kHost = "python";
  constexpr std::string_view kLayer = "cpython-";
  if (!mark.starts_with(kHost) || !interpreter.starts_with(kLayer)) return false;
  mark.remove_prefix(kHost.size());
  interpreter.remove_prefix(kLayer.size());
  return mark.substr(0, mark.find(' ')) != interpreter;
}

}  // namespace

PackageLayerService::PackageLayerService(PackageServiceDependencies services,
                                         PackageServiceOptions options)
    : io_(services.io),
      node_(services.node),
      options_(std::move(options)),
      index_(services.io, services.layers, index_options(options_)),
      templates_(services.io, services.templates, services.sessions, options_.templates),
      maintenance_(services.io, services.node, index_, templates_, services.pipeline,
                   services.events, maintenance_options(options_)),
      builder_(services.io, index_, maintenance_, services.pipeline, services.events,
               BuilderOptions{options_.boot_id, options_.now_ms}),
      builds_(services.io, build_queue(options_)),
      timer_(services.io) {}

void PackageLayerService::begin() { asio::co_spawn(io_, upkeep(*this), asio::detached); }

void PackageLayerService::stop() {
  stopped_ = true;
  builds_.stop();
  maintenance_.stop();
  timer_.cancel();
}

asio::awaitable<void> PackageLayerService::upkeep(PackageLayerService& self) {
  while (!self.stopped_) {
    self.timer_.expires_after(self.options_.upkeep_every);
    co_await self.timer_.async_wait(kAwaitTuple);
    if (self.stopped_) break;
    self.templates_.sweep();
    // Removes corrupt layers that were in use before.
    const auto& all = self.index_.all();
    const bool any = std::any_of(all.begin(), all.end(), [](const auto& one) {
      return one.second.manifest && one.second.manifest->corrupt;
    });
    if (any) (void)co_await self.maintenance_.tidy("");
  }
}

Task<PreparedPackages> PackageLayerService::prepare(PackageSetRequest request,
                                                    OnBuildProgress report,
                                                    std::shared_ptr<node::CancelFlag> cancel) {
  const Clock::time_point began = Clock::now();
  if (!request.definition.image.empty()) {
    co_return co_await prepare_image(std::move(request), std::move(report), std::move(cancel));
  }
  CO_TRY(const Plan plan, plan_for(request));
  PreparedPackages made;
  for (int tries = 1;; ++tries) {
    CO_TRY(const Layer layer, co_await layer_for(request, plan, report, cancel));
    made.built = made.built || layer.built;
    CO_TRY(const bool is_good, co_await is_intact(layer.id, request.project, report, cancel));
    if (!is_good) {
      if (tries < kMostTries) continue;
      co_return fail(Errc::kInternal,
                     "the layer of these packages was corrupt after several builds; see the log");
    }
    TemplateDefinition definition = request.definition;
    definition.layers = {layer.id};
    put_after(definition.preload, request.dependencies.preload);
    Result<PackageSetTemplates::Ready> ready =
        co_await templates_.ready(request.project, std::move(definition), report, cancel);
    if (!ready) {
      if (ready.error().code() != Errc::kNotFound || tries >= kMostTries) {
        co_return fail(std::move(ready.error()));
      }
      // The layer may have been dropped, perhaps by another server.
      CO_TRY_OK(co_await index_.load());
      if (index_.find(layer.id) != nullptr) co_return fail(std::move(ready.error()));
      continue;
    }
    made.template_id = std::move(ready->id);
    made.layer_id = layer.id;
    made.cold_because = std::move(ready->cold_because);
    made.hold = std::move(ready->hold);
    break;
  }
  CO_TRY_OK(co_await record_project(made.layer_id, plan.spec, request.project));
  made.waited = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
  if (report) report({BuildPhase::kReady, ""});
  co_return made;
}

Task<PreparedPackages> PackageLayerService::prepare_image(
    PackageSetRequest request, OnBuildProgress report, std::shared_ptr<node::CancelFlag> cancel) {
  if (stopped_) co_return fail(Errc::kUnavailable, "the server is stopping");
  if (!request.dependencies.empty()) {
    co_return fail(Errc::kInvalidArgument, "image: cannot be combined with dependencies yet");
  }
  PreparedPackages made;
  made.layer_id = request.definition.image;
  CO_TRY(PackageSetTemplates::Ready ready,
         co_await templates_.ready(request.project, std::move(request.definition),
                                   std::move(report), std::move(cancel)));
  made.template_id = std::move(ready.id);
  made.cold_because = std::move(ready.cold_because);
  made.hold = std::move(ready.hold);
  co_return made;
}

Result<PackageLayerService::Plan> PackageLayerService::plan_for(
    const PackageSetRequest& request) const {
  if (!options_.enabled) {
    return fail(Errc::kPolicy, "dependencies: disabled by the administrator (deps.enabled)");
  }
  if (stopped_) return fail(Errc::kUnavailable, "the server is stopping");
  if (!options_.unusable.empty()) return fail(Errc::kUnsupported, options_.unusable);
  if (request.dependencies.empty()) {
    return fail(Errc::kInvalidArgument, "dependencies: name at least one package");
  }
  const TemplateStatus* base = node_.find_template(request.definition.from);
  if (base == nullptr) {
    if (node_.templates().empty()) {
      return fail(
          node::launcher_error("the launcher has not reported its templates yet; try again"));
    }
    return fail(Errc::kNotFound, "template: unknown template \"" + request.definition.from + "\"");
  }
  Plan plan;
  switch (base->description.runtime) {
    case RuntimeKind::kPython:
      plan.target.manager = PackageManager::kPip;
      plan.target.index = options_.pip_index;
      break;
    case RuntimeKind::kNode:
      plan.target.manager = PackageManager::kNpm;
      plan.target.index = options_.npm_index;
      if (!request.dependencies.preload.empty()) {
        return fail(Errc::kInvalidArgument,
                    "dependencies.preload: only Python templates support it");
      }
      if (request.dependencies.host_packages) {
        return fail(Errc::kInvalidArgument,
                    "dependencies.host_packages: only Python templates support it");
      }
      break;
    case RuntimeKind::kNone:
      return fail(Errc::kInvalidArgument,
                  "dependencies: need a template with Python or Node; "
                  "\"" +
                      request.definition.from + "\" has neither");
  }
  plan.target.architecture = options_.architecture;
  plan.target.interpreter_mark = options_.interpreter_mark(plan.target.manager);
  plan.target.template_name = request.definition.from;
  plan.target.template_layers = base->description.layers;
  plan.target.lock = request.dependencies.lock;
  plan.target.host_packages =
      request.dependencies.host_packages.value_or(base->description.host_packages);
  if (!options_.shared) plan.target.project = request.project;
  plan.spec = spec_key(plan.target, request.dependencies);
  plan.asked = asked_text(request.dependencies);
  plan.is_locked = !request.dependencies.lock.empty();
  return plan;
}

Task<PackageLayerService::Layer> PackageLayerService::layer_for(
    const PackageSetRequest& request, const Plan& plan, OnBuildProgress report,
    std::shared_ptr<node::CancelFlag> cancel) {
  Layer layer;
  CO_TRY(const bool is_kept, co_await can_be_kept(request, plan));
  if (is_kept) {
    layer.id = request.kept_layer;
    co_return layer;
  }
  std::optional<LayerIndex::Remembered> known = index_.recall(plan.spec);
  if (!known || !known->fresh) {
    CO_TRY_OK(co_await index_.load_if_due());
    known = index_.recall(plan.spec);
  }
  // A lock determines its artefacts: it is never resolved again.
  if (known && (plan.is_locked || !request.resolve_now)) {
    if (!known->fresh && !plan.is_locked) resolve_in_background(request, plan);
    layer.id = known->layer;
    co_return layer;
  }
  if (std::optional<Error> failure = index_.failure_of(plan.spec)) {
    co_return fail(std::move(*failure));
  }
  CO_TRY(layer.id, co_await build(request, plan, std::move(report), std::move(cancel)));
  layer.built = !known || known->layer != layer.id;
  co_return layer;
}

Task<bool> PackageLayerService::can_be_kept(const PackageSetRequest& request, const Plan& plan) {
  if (request.kept_layer.empty()) co_return false;
  if (index_.find(request.kept_layer) == nullptr) CO_TRY_OK(co_await index_.load());
  const LayerIndex::Known* known = index_.find(request.kept_layer);
  co_return known != nullptr && known->usable() &&
      !is_other_version(plan.target.interpreter_mark, known->manifest->interpreter);
}

void PackageLayerService::resolve_in_background(const PackageSetRequest& request,
                                                const Plan& plan) {
  const std::int64_t now = options_.now_ms();
  std::erase_if(not_before_, [now](const auto& one) { return one.second <= now; });
  if (stopped_ || not_before_.contains(plan.spec) || index_.failure_of(plan.spec)) return;
  const auto pause = std::max<std::int64_t>(options_.failure_ttl.count(), kPauseBehind.count());
  not_before_[plan.spec] = now + pause;
  // The waiter leaves as soon as the build has begun, so that it yields to builds with waiters.
  const auto waiter = std::make_shared<node::CancelFlag>();
  const BuildQueue::Work work = [this, request, plan, waiter](
                                    OnBuildProgress progress,
                                    std::shared_ptr<node::CancelFlag> flag) {
    waiter->cancel();
    return resolve_and_warm(request, plan, std::move(progress), std::move(flag));
  };
  auto wait = [](PackageLayerService& self, std::string spec, std::string project,
                 BuildQueue::Work begin,
                 std::shared_ptr<node::CancelFlag> leaves) -> asio::awaitable<void> {
    OnBuildProgress nothing;
    const Result<std::string> begun = co_await self.builds_.build(
        std::move(spec), std::move(project), std::move(begin), std::move(nothing), leaves);
    if (begun || leaves->cancelled()) co_return;
    log::warn("cannot resolve packages again; the old layer stays in use",
              {{"error", begun.error().message()}});
  };
  asio::co_spawn(io_, wait(*this, plan.spec, request.project, work, waiter), asio::detached);
}

Task<std::string> PackageLayerService::resolve_and_warm(PackageSetRequest request, Plan plan,
                                                        OnBuildProgress report,
                                                        std::shared_ptr<node::CancelFlag> cancel) {
  // builder_ publishes and logs errors.
  PackageSetWork work = work_for(request, plan);
  BuildEvents::Projects projects = askers_of(plan.spec);
  CO_TRY(const std::string id,
         co_await builder_.make(std::move(work), std::move(projects), report, cancel));
  not_before_.erase(plan.spec);
  // Warm it now, so that the next request finds its interpreter ready.
  TemplateDefinition definition = request.definition;
  definition.id.clear();
  definition.layers = {id};
  put_after(definition.preload, request.dependencies.preload);
  const Result<PackageSetTemplates::Ready> ready =
      co_await templates_.ready(request.project, std::move(definition), report, cancel);
  if (!ready) {
    log::info("cannot warm a set that was resolved again", {{"error", ready.error().message()}});
  }
  co_return id;
}

BuildEvents::Projects PackageLayerService::askers_of(const std::string& spec) const {
  return [this, spec] { return builds_.projects_of(spec); };
}

PackageSetWork PackageLayerService::work_for(const PackageSetRequest& request, const Plan& plan) {
  PackageSetWork work;
  work.target = plan.target;
  work.spec = plan.spec;
  work.asked = plan.asked;
  work.request.manager = plan.target.manager;
  work.request.template_name = request.definition.from;
  work.request.dependencies = request.dependencies;
  work.request.layout = {.host_packages = plan.target.host_packages,
                         .own_site = has_own_site(plan.target)};
  work.request.project = request.project;
  return work;
}

Task<std::string> PackageLayerService::build(const PackageSetRequest& request, const Plan& plan,
                                             OnBuildProgress report,
                                             std::shared_ptr<node::CancelFlag> cancel) {
  const BuildQueue::Work make =
      [this, work = work_for(request, plan), projects = askers_of(plan.spec)](
          OnBuildProgress progress, std::shared_ptr<node::CancelFlag> flag) {
        return builder_.make(work, projects, std::move(progress), std::move(flag));
      };
  co_return co_await builds_.build(plan.spec, request.project, make, std::move(report),
                                   std::move(cancel));
}

Task<bool> PackageLayerService::is_intact(std::string id, std::string project,
                                          OnBuildProgress report,
                                          std::shared_ptr<node::CancelFlag> cancel) {
  // A list that was requested before the layer was made may have arrived afterwards.
  if (index_.find(id) == nullptr) CO_TRY_OK(co_await index_.load());
  const LayerIndex::Known* known = index_.find(id);
  if (known == nullptr || !known->usable()) co_return false;
  const LayerMaintenance::Due due = maintenance_.check_due(*known);
  if (due == LayerMaintenance::Due::kNo) co_return true;
  if (due == LayerMaintenance::Due::kSoon) {
    maintenance_.check_in_background(id);
    co_return true;
  }
  Result<CheckReport> checked =
      co_await maintenance_.check(id, std::move(project), std::move(report), std::move(cancel));
  if (checked) co_return checked->intact;
  // It was dropped meanwhile: build it again.
  if (checked.error().code() == Errc::kNotFound) {
    index_.forget(id);
    co_return false;
  }
  co_return fail(std::move(checked.error()));
}

Task<> PackageLayerService::record_project(std::string id, std::string spec, std::string project) {
  const LayerIndex::Known* known = index_.find(id);
  if (known == nullptr || !known->manifest) co_return Result<>();
  const auto has_it = [&project](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), project) != list.end();
  };
  // The usual case needs no copy.
  const auto asked = std::find_if(known->manifest->asked.begin(), known->manifest->asked.end(),
                                  [&](const auto& one) { return one.spec == spec; });
  const bool is_noted = has_it(known->manifest->projects) &&
                        (asked == known->manifest->asked.end() || has_it(asked->projects));
  if (is_noted) co_return Result<>();
  const std::string key = id + " " + spec + " " + project;
  const std::int64_t now = options_.now_ms();
  const auto noted = noted_at_.find(key);
  if (noted != noted_at_.end() && now >= noted->second && now < noted->second + kNoteAgainMs) {
    co_return Result<>();
  }
  if (noted_at_.size() >= kMostNoted) noted_at_.clear();
  noted_at_.insert_or_assign(key, now);
  LayerManifest manifest = *known->manifest;
  manifest.record_project(spec, project);
  Result<> written = co_await index_.write_manifest(std::move(id), std::move(manifest));
  // Until its next request, the project's list of layers lacks this one.
  if (!written)
    log::warn("cannot write the manifest of a layer", {{"error", written.error().message()}});
  co_return Result<>();
}

LayerView PackageLayerService::view_for(const LayerIndex::Known& known,
                                        const std::string& project) const {
  LayerView view = view_of(known, project);
  if (!maintenance_.pinned_by(known).empty()) view.record.in_use = true;
  return view;
}

Task<std::vector<LayerView>> PackageLayerService::list(std::string project) {
  CO_TRY_OK(co_await index_.load());
  std::vector<LayerView> views;
  for (const auto& [id, known] : index_.all()) {
    if (belongs_to(known, project)) views.push_back(view_for(known, project));
  }
  std::stable_sort(views.begin(), views.end(), [](const LayerView& a, const LayerView& b) {
    return std::max(a.record.used_ms, a.record.made_ms) >
           std::max(b.record.used_ms, b.record.made_ms);
  });
  co_return views;
}

Task<std::string> PackageLayerService::full_id(std::string project, std::string id) {
  CO_TRY_OK(co_await index_.load());
  std::string found;
  const bool is_prefix = id.size() >= kShortId && id.size() <= kLayerIdSize;
  for (const auto& [known_id, known] : index_.all()) {
    if (!is_prefix || known_id.rfind(id, 0) != 0 || !belongs_to(known, project)) continue;
    if (!found.empty()) {
      co_return fail(Errc::kInvalidArgument,
                     "several layers have this id prefix; use a longer one");
    }
    found = known_id;
  }
  if (found.empty()) {
    co_return fail(Errc::kNotFound, is_prefix
                                        ? "no such layer"
                                        : "no such layer; give its id, or at least the first " +
                                              std::to_string(kShortId) + " characters of it");
  }
  co_return found;
}

Task<LayerView> PackageLayerService::find(std::string project, std::string id) {
  CO_TRY(const std::string found, co_await full_id(project, std::move(id)));
  co_return view_for(*index_.find(found), project);
}

Task<> PackageLayerService::remove(std::string id) {
  CO_TRY(std::string found, co_await full_id("*", std::move(id)));
  co_return co_await maintenance_.drop(std::move(found), "it was removed on request");
}

Task<PruneReport> PackageLayerService::prune(PruneRequest request) {
  co_return co_await maintenance_.prune(request);
}

Task<CheckReport> PackageLayerService::check(std::string id) {
  CO_TRY(std::string found, co_await full_id("*", std::move(id)));
  auto never = std::make_shared<node::CancelFlag>();
  OnBuildProgress nothing;
  co_return co_await maintenance_.check(std::move(found), "", std::move(nothing), std::move(never));
}

PackageFigures PackageLayerService::figures() const {
  const BuilderFigures& builds = builder_.figures();
  PackageFigures out;
  out.built = builds.built;
  out.reused = builds.reused;
  out.failed = builds.failed;
  out.cancelled = builds.cancelled;
  out.corrupt = maintenance_.corrupt();
  out.building = builds_.building();
  out.queued = builds_.waiting();
  out.templates = static_cast<std::uint32_t>(templates_.size());
  out.layers = static_cast<std::uint32_t>(index_.all().size());
  out.layer_bytes = index_.bytes();
  return out;
}

}  // namespace glovebox::packages
