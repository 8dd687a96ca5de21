#include "packages/package_layer_service.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <string_view>
#include <utility>

#include "base/log.h"

namespace glovebox::packages {
namespace {

using Clock = std::chrono::steady_clock;

// A layer may be found bad, or gone, just when it is used; then once more.
constexpr int kMostTries = 3;
constexpr std::size_t kShortId = 8;
constexpr std::chrono::milliseconds kPauseBehind{60'000};

QueueOptions build_queue(const PackageServiceOptions& options) {
  QueueOptions queue;
  queue.at_once = options.max_builds;
  return queue;
}

MemoryOptions memory_options(const PackageServiceOptions& options) {
  MemoryOptions memory;
  memory.resolve_ttl = options.resolve_ttl;
  memory.failure_ttl = options.failure_ttl;
  memory.refresh_every = options.refresh_every;
  memory.now_ms = options.now_ms;
  return memory;
}

LayerShelfOptions shelf_options(const PackageServiceOptions& options) {
  LayerShelfOptions shelf;
  shelf.boot_id = options.boot_id;
  shelf.check_every = options.check_every;
  shelf.disk_ceiling = options.disk_ceiling;
  shelf.now_ms = options.now_ms;
  shelf.pinned_by = options.pinned_by;
  return shelf;
}

void put_after(std::vector<std::string>& list, const std::vector<std::string>& more) {
  for (const std::string& one : more) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
}

// `project`: "*" for everything.
LayerView view_of(const LayerIndex::Known& known, const std::string& project) {
  LayerView view;
  view.record = known.record;
  if (!known.note) return view;
  const LayerManifest& note = *known.note;
  const auto may_see = [&project](const std::vector<std::string>& list) {
    return project == "*" || std::find(list.begin(), list.end(), project) != list.end();
  };
  view.manager = note.manager;
  view.interpreter = note.interpreter;
  view.index = note.index;
  view.packages = note.packages;
  view.checked_ms = note.checked_ms;
  for (const LayerManifest::Asked& asked : note.asked) {
    if (may_see(asked.projects)) view.asked.push_back(asked.text);
  }
  for (const std::string& one : note.projects) {
    if (project == "*" || one == project) view.projects.push_back(one);
  }
  return view;
}

// "python3.11 ..." of a host and "cpython-3.12" of a layer: its compiled modules are not for it.
// Another build of the same version is no reason to resolve again what is to stay as it is.
bool is_of_another(std::string_view mark, std::string_view interpreter) {
  constexpr std::string_view kHost = "python";
  constexpr std::string_view kLayer = "cpython-";
  if (!mark.starts_with(kHost) || !interpreter.starts_with(kLayer)) return false;
  mark.remove_prefix(kHost.size());
  interpreter.remove_prefix(kLayer.size());
  return mark.substr(0, mark.find(' ')) != interpreter;
}

bool belongs_to(const LayerIndex::Known& known, const std::string& project) {
  if (project == "*") return true;
  return known.note && std::find(known.note->projects.begin(), known.note->projects.end(),
                                 project) != known.note->projects.end();
}

}  // namespace

PackageLayerService::PackageLayerService(PackageServiceDependencies place, PackageServiceOptions options)
    : io_(place.io),
      node_(place.node),
      options_(std::move(options)),
      index_(place.io, place.layers, memory_options(options_)),
      templates_(place.io, place.templates, place.sessions, options_.templates),
      maintenance_(place.io, place.node, index_, templates_, place.pipeline, place.events,
             shelf_options(options_)),
      builder_(place.io, index_, maintenance_, place.pipeline, place.events,
               BuilderOptions{options_.boot_id, options_.now_ms}),
      builds_(place.io, build_queue(options_)),
      timer_(place.io) {}

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
    // Corrupt ones that were in use.
    const auto& all = self.index_.all();
    const bool any = std::any_of(all.begin(), all.end(), [](const auto& one) {
      return one.second.note && one.second.note->corrupt;
    });
    if (any) (void)co_await self.maintenance_.tidy("");
  }
}

Task<PreparedPackages> PackageLayerService::prepare(PackageSetRequest request, OnBuildProgress say,
                                   std::shared_ptr<node::CancelFlag> cancel) {
  const Clock::time_point began = Clock::now();
  CO_TRY(const Plan plan, plan_for(request));
  PreparedPackages made;
  for (int tries = 1;; ++tries) {
    CO_TRY(const Layer layer, co_await layer_for(request, plan, say, cancel));
    made.built = made.built || layer.built;
    CO_TRY(const bool is_good, co_await looked_at(layer.id, request.project, say, cancel));
    if (!is_good) {
      if (tries < kMostTries) continue;
      co_return fail(Errc::kInternal, "the layer of this set is found corrupt again and again");
    }
    TemplateDefinition definition = request.definition;
    definition.layers = {layer.id};
    put_after(definition.preload, request.dependencies.preload);
    Result<PackageSetTemplates::Ready> ready =
        co_await templates_.ready(request.project, std::move(definition), say, cancel);
    if (!ready) {
      if (ready.error().code() != Errc::kNotFound || tries >= kMostTries) {
        co_return fail(std::move(ready.error()));
      }
      // Somebody dropped it, perhaps another server.
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
  CO_TRY_OK(co_await note_project(made.layer_id, plan.spec, request.project));
  made.waited = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
  if (say) say({BuildPhase::kReady, ""});
  co_return made;
}

Result<PackageLayerService::Plan> PackageLayerService::plan_for(const PackageSetRequest& request) const {
  if (!options_.enabled) {
    return fail(Errc::kPolicy, "dependencies: the administrator does not want any (deps.enabled)");
  }
  if (stopped_) return fail(Errc::kUnavailable, "the server is stopping");
  if (!options_.unusable.empty()) return fail(Errc::kUnsupported, options_.unusable);
  if (request.dependencies.empty()) {
    return fail(Errc::kInvalidArgument, "dependencies: name at least one package");
  }
  const TemplateStatus* base = node_.find_template(request.definition.from);
  if (base == nullptr) {
    if (node_.templates().empty()) {
      return fail(Errc::kUnavailable, "the launcher has not told of its templates yet");
    }
    return fail(Errc::kNotFound, "template: there is no \"" + request.definition.from + "\"");
  }
  Plan plan;
  switch (base->description.runtime) {
    case RuntimeKind::kPython:
      plan.place.manager = PackageManager::kPip;
      plan.place.index = options_.pip_index;
      break;
    case RuntimeKind::kNode:
      plan.place.manager = PackageManager::kNpm;
      plan.place.index = options_.npm_index;
      if (!request.dependencies.preload.empty()) {
        return fail(Errc::kInvalidArgument, "dependencies.preload: is for Python only");
      }
      break;
    case RuntimeKind::kNone:
      return fail(Errc::kInvalidArgument,
                  "dependencies: are for templates with Python or Node, "
                  "and \"" +
                      request.definition.from + "\" has neither");
  }
  plan.place.architecture = options_.architecture;
  plan.place.interpreter_mark = options_.interpreter_mark(plan.place.manager);
  plan.place.template_name = request.definition.from;
  plan.place.template_layers = base->description.layers;
  plan.place.lock = request.dependencies.lock;
  plan.spec = spec_key(plan.place, request.dependencies);
  plan.asked = asked_text(request.dependencies);
  plan.is_locked = !request.dependencies.lock.empty();
  return plan;
}

Task<PackageLayerService::Layer> PackageLayerService::layer_for(const PackageSetRequest& request, const Plan& plan,
                                                OnBuildProgress say,
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
  // A lock says itself what it comes to.
  if (known && (plan.is_locked || !request.resolve_now)) {
    if (!known->fresh && !plan.is_locked) resolve_behind(request, plan);
    layer.id = known->layer;
    co_return layer;
  }
  if (std::optional<Error> failure = index_.failure_of(plan.spec)) {
    co_return fail(std::move(*failure));
  }
  CO_TRY(layer.id, co_await build(request, plan, std::move(say), std::move(cancel)));
  layer.built = !known || known->layer != layer.id;
  co_return layer;
}

Task<bool> PackageLayerService::can_be_kept(const PackageSetRequest& request, const Plan& plan) {
  if (request.kept_layer.empty()) co_return false;
  if (index_.find(request.kept_layer) == nullptr) CO_TRY_OK(co_await index_.load());
  const LayerIndex::Known* known = index_.find(request.kept_layer);
  co_return known != nullptr && known->usable() &&
      !is_of_another(plan.place.interpreter_mark, known->note->interpreter);
}

void PackageLayerService::resolve_behind(const PackageSetRequest& request, const Plan& plan) {
  const std::int64_t now = options_.now_ms();
  std::erase_if(not_before_, [now](const auto& one) { return one.second <= now; });
  if (stopped_ || not_before_.contains(plan.spec) || index_.failure_of(plan.spec)) return;
  const auto pause = std::max<std::int64_t>(options_.failure_ttl.count(), kPauseBehind.count());
  not_before_[plan.spec] = now + pause;
  // Whoever waits for it leaves as soon as it has begun: it makes way for what people wait for.
  const auto waiter = std::make_shared<node::CancelFlag>();
  const BuildQueue::Work work = [this, request, plan, waiter](OnBuildProgress told,
                                                           std::shared_ptr<node::CancelFlag> flag) {
    waiter->cancel();
    return resolve_and_warm(request, plan, std::move(told), std::move(flag));
  };
  auto wait = [](PackageLayerService& self, std::string spec, std::string project, BuildQueue::Work begin,
                 std::shared_ptr<node::CancelFlag> leaves) -> asio::awaitable<void> {
    OnBuildProgress nothing;
    const Result<std::string> begun = co_await self.builds_.build(
        std::move(spec), std::move(project), std::move(begin), std::move(nothing), leaves);
    if (begun || leaves->cancelled()) co_return;
    log::warn("packages are not resolved again, and used as they are",
              {{"error", begun.error().message()}});
  };
  asio::co_spawn(io_, wait(*this, plan.spec, request.project, work, waiter), asio::detached);
}

Task<std::string> PackageLayerService::resolve_and_warm(PackageSetRequest request, Plan plan, OnBuildProgress say,
                                                std::shared_ptr<node::CancelFlag> cancel) {
  // An error has been told and logged by then.
  PackageSetWork work = work_for(request, plan);
  BuildEvents::Projects projects = askers_of(plan.spec);
  CO_TRY(const std::string id,
         co_await builder_.make(std::move(work), std::move(projects), say, cancel));
  not_before_.erase(plan.spec);
  // The next one who asks finds its interpreter waiting.
  TemplateDefinition definition = request.definition;
  definition.id.clear();
  definition.layers = {id};
  put_after(definition.preload, request.dependencies.preload);
  const Result<PackageSetTemplates::Ready> ready =
      co_await templates_.ready(request.project, std::move(definition), say, cancel);
  if (!ready) {
    log::info("a set that was resolved again is not warm", {{"error", ready.error().message()}});
  }
  co_return id;
}

BuildEvents::Projects PackageLayerService::askers_of(const std::string& spec) const {
  return [this, spec] { return builds_.projects_of(spec); };
}

PackageSetWork PackageLayerService::work_for(const PackageSetRequest& request, const Plan& plan) {
  PackageSetWork work;
  work.place = plan.place;
  work.spec = plan.spec;
  work.asked = plan.asked;
  work.request.manager = plan.place.manager;
  work.request.template_name = request.definition.from;
  work.request.dependencies = request.dependencies;
  work.request.project = request.project;
  return work;
}

Task<std::string> PackageLayerService::build(const PackageSetRequest& request, const Plan& plan, OnBuildProgress say,
                                     std::shared_ptr<node::CancelFlag> cancel) {
  const BuildQueue::Work make = [this, work = work_for(request, plan),
                                 projects = askers_of(plan.spec)](
                                    OnBuildProgress told, std::shared_ptr<node::CancelFlag> flag) {
    return builder_.make(work, projects, std::move(told), std::move(flag));
  };
  co_return co_await builds_.build(plan.spec, request.project, make, std::move(say),
                                   std::move(cancel));
}

Task<bool> PackageLayerService::looked_at(std::string id, std::string project, OnBuildProgress say,
                                  std::shared_ptr<node::CancelFlag> cancel) {
  // A list that was asked for before it was made may have come after that.
  if (index_.find(id) == nullptr) CO_TRY_OK(co_await index_.load());
  const LayerIndex::Known* known = index_.find(id);
  if (known == nullptr || !known->usable()) co_return false;
  const LayerMaintenance::Due due = maintenance_.check_due(*known);
  if (due == LayerMaintenance::Due::kNo) co_return true;
  if (due == LayerMaintenance::Due::kSoon) {
    maintenance_.check_behind(id);
    co_return true;
  }
  Result<CheckReport> report =
      co_await maintenance_.check(id, std::move(project), std::move(say), std::move(cancel));
  if (report) co_return report->intact;
  // Dropped meanwhile: it is built again.
  if (report.error().code() == Errc::kNotFound) {
    index_.forget(id);
    co_return false;
  }
  co_return fail(std::move(report.error()));
}

Task<> PackageLayerService::note_project(std::string id, std::string spec, std::string project) {
  const LayerIndex::Known* known = index_.find(id);
  if (known == nullptr || !known->note) co_return Result<>();
  const auto has_it = [&project](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), project) != list.end();
  };
  // The usual case, without a copy.
  const auto asked = std::find_if(known->note->asked.begin(), known->note->asked.end(),
                                  [&](const auto& one) { return one.spec == spec; });
  const bool is_noted = has_it(known->note->projects) &&
                        (asked == known->note->asked.end() || has_it(asked->projects));
  if (is_noted) co_return Result<>();
  LayerManifest note = *known->note;
  note.note_project(spec, project);
  Result<> written = co_await index_.write_note(std::move(id), std::move(note));
  // Its list of layers lacks one then, until it asks again.
  if (!written) log::warn("a layer's note", {{"error", written.error().message()}});
  co_return Result<>();
}

LayerView PackageLayerService::view_for(const LayerIndex::Known& known, const std::string& project) const {
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
  const bool is_word = id.size() >= kShortId && id.size() <= kLayerIdSize;
  for (const auto& [known_id, known] : index_.all()) {
    if (!is_word || known_id.rfind(id, 0) != 0 || !belongs_to(known, project)) continue;
    if (!found.empty()) {
      co_return fail(Errc::kInvalidArgument, "several layers begin so; say more of the id");
    }
    found = known_id;
  }
  if (found.empty()) co_return fail(Errc::kNotFound, "there is no such layer");
  co_return found;
}

Task<LayerView> PackageLayerService::find(std::string project, std::string id) {
  CO_TRY(const std::string found, co_await full_id(project, std::move(id)));
  co_return view_for(*index_.find(found), project);
}

Task<> PackageLayerService::remove(std::string id) {
  CO_TRY(std::string found, co_await full_id("*", std::move(id)));
  co_return co_await maintenance_.drop(std::move(found), "it was removed by hand");
}

Task<PruneReport> PackageLayerService::prune(PruneRequest request) { co_return co_await maintenance_.prune(request); }

Task<CheckReport> PackageLayerService::check(std::string id) {
  CO_TRY(std::string found, co_await full_id("*", std::move(id)));
  auto nobody = std::make_shared<node::CancelFlag>();
  OnBuildProgress nothing;
  co_return co_await maintenance_.check(std::move(found), "", std::move(nothing), std::move(nobody));
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
