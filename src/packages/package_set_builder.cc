#include "packages/package_set_builder.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {
namespace {

using Clock = std::chrono::steady_clock;

// For what another server of this host is making already.
constexpr std::chrono::minutes kBuildPatience{5};
// So many of one set that are corrupt and in use, and then it is an error.
constexpr unsigned kMostBuildAttempts = 8;

// What is wrong with the request, or with the index just now. What is ours may be over in a moment.
bool is_worth_remembering(const Error& error) {
  return error.code() == Errc::kInvalidArgument || error.code() == Errc::kTimeout;
}

}  // namespace

Task<std::string> PackageSetBuilder::make(PackageSetWork work, BuildEvents::Projects projects, OnBuildProgress say,
                                   std::shared_ptr<node::CancelFlag> cancel) {
  BuildEvents::About about{work.spec, work.asked, manager_name(work.place.manager)};
  const std::string spec = work.spec;
  const std::string project = work.request.project;
  const auto story = std::make_shared<BuildEvents>(events_, std::move(projects), std::move(about));
  const OnBuildProgress tell = [story, say](const BuildProgress& word) {
    story->said(word);
    say(word);
  };
  const Clock::time_point began = Clock::now();
  story->begun();
  log::info("building packages", {{"set", spec.substr(0, 16)}, {"project", project}});
  Result<Made> made = co_await fetch_and_make(std::move(work), tell, cancel);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
  if (!made) {
    ++(cancel->cancelled() ? figures_.cancelled : figures_.failed);
    if (!cancel->cancelled() && is_worth_remembering(made.error())) {
      index_.remember_failure(spec, made.error());
    }
    story->failed(made.error());
    log::info("packages could not be built", {{"set", spec.substr(0, 16)},
                                              {"ms", std::to_string(took.count())},
                                              {"error", made.error().message()}});
    co_return fail(std::move(made.error()));
  }
  ++(made->reused ? figures_.reused : figures_.built);
  if (const LayerIndex::Known* known = index_.find(made->id)) {
    story->built(known->record, made->reused, took);
  }
  log::info("packages built", {{"set", spec.substr(0, 16)},
                               {"layer", made->id},
                               {"reused", made->reused ? "yes" : "no"},
                               {"ms", std::to_string(took.count())}});
  co_return std::move(made->id);
}

Task<PackageSetBuilder::Made> PackageSetBuilder::fetch_and_make(PackageSetWork work, OnBuildProgress say,
                                                  std::shared_ptr<node::CancelFlag> cancel) {
  BuildRequest request = work.request;
  CO_TRY(Fetched fetched, co_await pipeline_.fetch(std::move(request), say, cancel));
  if (cancel->cancelled()) co_return nobody_waits();
  Made made;
  CO_TRY(made.id, co_await free_id(work, fetched, cancel));
  if (const LayerIndex::Known* known = index_.find(made.id); known && known->usable()) {
    made.reused = true;
    CO_TRY_OK(co_await record_request(made.id, work));
    co_return made;
  }
  // Until it is there or not; goes with a coroutine that was cut off.
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
      co_await keep(work, std::move(fetched), made.id, std::move(say), std::move(cancel));
  if (!kept) {
    if (kept.error().code() != Errc::kConflict) co_return fail(std::move(kept.error()));
    // Another server of this host was faster, or is at it: a private one of another command.
    const Clock::time_point patience = Clock::now() + kBuildPatience;
    while (true) {
      CO_TRY_OK(co_await index_.load());
      const LayerIndex::Known* known = index_.find(made.id);
      if (known != nullptr && known->usable()) break;
      if (Clock::now() >= patience) {
        co_return fail(Errc::kUnavailable, "another server builds the same packages; try again");
      }
      co_await making->notifier.wait(Clock::now() + std::chrono::seconds(1));
      if (cancelled_by->cancelled()) co_return nobody_waits();
    }
    made.reused = true;
    CO_TRY_OK(co_await record_request(made.id, work));
    co_return made;
  }
  index_.add(std::move(*kept));
  Result<> tidied = co_await maintenance_.tidy(made.id);
  if (!tidied) log::warn("layers are not tidied", {{"error", tidied.error().message()}});
  co_return made;
}

// The set's own; beside it if there is a bad one in use. Waits for one that is being made.
Task<std::string> PackageSetBuilder::free_id(const PackageSetWork& work, const Fetched& fetched,
                                      std::shared_ptr<node::CancelFlag> cancel) {
  for (unsigned attempt = 0; attempt < kMostBuildAttempts; ++attempt) {
    const std::string id = layer_id(work.place, fetched.interpreter, fetched.artefacts, attempt);
    while (true) {
      const auto other = making_->find(id);
      if (other == making_->end()) break;
      const std::shared_ptr<Making> making = other->second;
      co_await making->notifier.wait(Clock::now() + std::chrono::seconds(1));
      if (cancel->cancelled()) co_return nobody_waits();
    }
    CO_TRY_OK(co_await index_.load());
    if (making_->contains(id)) {
      --attempt;  // somebody began meanwhile
      continue;
    }
    const LayerIndex::Known* known = index_.find(id);
    if (known == nullptr || known->usable()) co_return id;
    if (known->note && known->note->corrupt) {
      Result<> dropped = co_await maintenance_.drop(id, "it was corrupt");
      if (dropped && !making_->contains(id)) co_return id;
    }
  }
  co_return fail(Errc::kConflict, "the layers of this set are corrupt and in use; see the log");
}

Task<> PackageSetBuilder::record_request(std::string id, const PackageSetWork& work) {
  const LayerIndex::Known* known = index_.find(id);
  LayerManifest note = *known->note;
  note.note_asked(work.spec, work.asked, options_.now_ms(), work.request.project);
  co_return co_await index_.write_note(std::move(id), std::move(note));
}

Task<LayerRecord> PackageSetBuilder::keep(PackageSetWork work, Fetched fetched, std::string id, OnBuildProgress say,
                                   std::shared_ptr<node::CancelFlag> cancel) {
  LayerManifest note;
  note.manager = manager_name(work.place.manager);
  note.interpreter = fetched.interpreter;
  note.index = work.place.index;
  note.template_name = work.place.template_name;
  note.packages = fetched.artefacts;
  // Of npm's: the tree's own shape, which is for the layer's id and no package.
  std::erase_if(note.packages, [](const Artefact& one) { return one.name.starts_with('('); });
  note.note_asked(work.spec, work.asked, options_.now_ms(), work.request.project);
  // It is read back as soon as it is kept.
  note.boot_id = options_.boot_id;
  note.checked_ms = options_.now_ms();
  std::string text = note_text(std::move(note));
  co_return co_await pipeline_.make_layer(std::move(fetched), std::move(id), std::move(text),
                                          std::move(say), std::move(cancel));
}

}  // namespace glovebox::packages
