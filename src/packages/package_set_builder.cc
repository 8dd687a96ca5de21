#include "packages/package_set_builder.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {
namespace {

using Clock = std::chrono::steady_clock;

// How long to wait for a layer that another server of this host is making.
constexpr std::chrono::minutes kBuildPatience{5};
// At most this many corrupt layers of one set can be in use; then it is an error.
constexpr unsigned kMostBuildAttempts = 8;

// Errors of the request or the index. Errors of this host may be over in a moment.
bool is_worth_remembering(const Error& error) {
  return error.code() == Errc::kInvalidArgument || error.code() == Errc::kTimeout;
}

}  // namespace

Task<std::string> PackageSetBuilder::make(PackageSetWork work, BuildEvents::Projects projects,
                                          OnBuildProgress report,
                                          std::shared_ptr<node::CancelFlag> cancel) {
  BuildEvents::About about{work.spec, work.asked, manager_name(work.target.manager)};
  const std::string spec = work.spec;
  const std::string project = work.request.project;
  const auto build_events =
      std::make_shared<BuildEvents>(events_, std::move(projects), std::move(about));
  const OnBuildProgress publish_and_report = [build_events, report](const BuildProgress& progress) {
    build_events->progressed(progress);
    report(progress);
  };
  const Clock::time_point began = Clock::now();
  build_events->begun();
  log::info("building packages", {{"set", spec.substr(0, 16)}, {"project", project}});
  Result<Made> made = co_await fetch_and_make(std::move(work), publish_and_report, cancel);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
  if (!made) {
    ++(cancel->cancelled() ? figures_.cancelled : figures_.failed);
    if (!cancel->cancelled() && is_worth_remembering(made.error())) {
      index_.remember_failure(spec, made.error());
    }
    build_events->failed(made.error());
    log::info("cannot build packages", {{"set", spec.substr(0, 16)},
                                        {"ms", std::to_string(took.count())},
                                        {"error", made.error().message()}});
    co_return fail(std::move(made.error()));
  }
  ++(made->reused ? figures_.reused : figures_.built);
  if (const LayerIndex::Known* known = index_.find(made->id)) {
    build_events->built(known->record, made->reused, took);
  }
  log::info("packages built", {{"set", spec.substr(0, 16)},
                               {"layer", made->id},
                               {"reused", made->reused ? "yes" : "no"},
                               {"ms", std::to_string(took.count())}});
  co_return std::move(made->id);
}

Task<PackageSetBuilder::Made> PackageSetBuilder::fetch_and_make(
    PackageSetWork work, OnBuildProgress report, std::shared_ptr<node::CancelFlag> cancel) {
  BuildRequest request = work.request;
  CO_TRY(FetchedPackages fetched, co_await pipeline_.fetch(std::move(request), report, cancel));
  if (cancel->cancelled()) co_return build_cancelled();
  Made made;
  CO_TRY(made.id, co_await free_id(work, fetched, cancel));
  if (const LayerIndex::Known* known = index_.find(made.id); known && known->usable()) {
    made.reused = true;
    CO_TRY_OK(co_await record_request(made.id, work));
    co_return made;
  }
  std::string project = work.request.project;
  CO_TRY_OK(co_await maintenance_.keep_within_share(std::move(project)));
  // Held while the layer is made; also released if the coroutine is destroyed.
  struct Mine {
    std::shared_ptr<MakingAll> all;
    std::string id;
    std::shared_ptr<Making> making;
    ~Mine() {
      all->erase(id);
      making->notifier.notify_all();
    }
  };
  const auto making = std::make_shared<Making>(io_);
  (*making_)[made.id] = making;
  const Mine mine{making_, made.id, making};
  const std::shared_ptr<node::CancelFlag> cancelled_by = cancel;
  Result<LayerRecord> kept =
      co_await keep(work, std::move(fetched), made.id, std::move(report), std::move(cancel));
  if (!kept) {
    if (kept.error().code() != Errc::kConflict) co_return fail(std::move(kept.error()));
    // Another server of this host, for example a private one, made it first or is making it.
    const Clock::time_point patience = Clock::now() + kBuildPatience;
    while (true) {
      CO_TRY_OK(co_await index_.load());
      const LayerIndex::Known* known = index_.find(made.id);
      if (known != nullptr && known->usable()) break;
      if (Clock::now() >= patience) {
        co_return fail(Errc::kUnavailable,
                       "another server is building the same packages; try again");
      }
      co_await making->notifier.wait(Clock::now() + std::chrono::seconds(1));
      if (cancelled_by->cancelled()) co_return build_cancelled();
    }
    made.reused = true;
    CO_TRY_OK(co_await record_request(made.id, work));
    co_return made;
  }
  index_.add(std::move(*kept));
  Result<> tidied = co_await maintenance_.tidy(made.id);
  if (!tidied) log::warn("cannot tidy the layers", {{"error", tidied.error().message()}});
  co_return made;
}

// The set's own id; another one while a corrupt layer with that id is in use. Waits for a layer
// that is being made.
Task<std::string> PackageSetBuilder::free_id(const PackageSetWork& work,
                                             const FetchedPackages& fetched,
                                             std::shared_ptr<node::CancelFlag> cancel) {
  for (unsigned attempt = 0; attempt < kMostBuildAttempts; ++attempt) {
    const std::string id = layer_id(work.target, fetched.interpreter, fetched.artefacts, attempt);
    while (true) {
      const auto other = making_->find(id);
      if (other == making_->end()) break;
      const std::shared_ptr<Making> making = other->second;
      co_await making->notifier.wait(Clock::now() + std::chrono::seconds(1));
      if (cancel->cancelled()) co_return build_cancelled();
    }
    CO_TRY_OK(co_await index_.load());
    if (making_->contains(id)) {
      --attempt;  // another build began meanwhile
      continue;
    }
    const LayerIndex::Known* known = index_.find(id);
    if (known == nullptr || known->usable()) co_return id;
    if (known->manifest && known->manifest->corrupt) {
      Result<> dropped = co_await maintenance_.drop(id, "it was corrupt");
      if (dropped && !making_->contains(id)) co_return id;
    }
  }
  co_return fail(Errc::kConflict,
                 "all layers of these packages are corrupt and in use; see the log");
}

Task<> PackageSetBuilder::record_request(std::string id, const PackageSetWork& work) {
  const LayerIndex::Known* known = index_.find(id);
  LayerManifest manifest = *known->manifest;
  manifest.record_request(work.spec, work.asked, options_.now_ms(), work.request.project);
  co_return co_await index_.write_manifest(std::move(id), std::move(manifest));
}

Task<LayerRecord> PackageSetBuilder::keep(PackageSetWork work, FetchedPackages fetched,
                                          std::string id, OnBuildProgress report,
                                          std::shared_ptr<node::CancelFlag> cancel) {
  LayerManifest manifest;
  manifest.manager = manager_name(work.target.manager);
  manifest.interpreter = fetched.interpreter;
  manifest.index = work.target.index;
  manifest.template_name = work.target.template_name;
  manifest.packages = fetched.artefacts;
  // npm's entry for the shape of the tree is for the layer's id only; it is not a package.
  std::erase_if(manifest.packages, [](const Artefact& one) { return one.name.starts_with('('); });
  manifest.record_request(work.spec, work.asked, options_.now_ms(), work.request.project);
  // make_layer() verifies it when it is kept.
  manifest.boot_id = options_.boot_id;
  manifest.checked_ms = options_.now_ms();
  std::string text = manifest_json(std::move(manifest));
  co_return co_await pipeline_.make_layer(std::move(fetched), std::move(id), std::move(text),
                                          std::move(report), std::move(cancel));
}

}  // namespace glovebox::packages
