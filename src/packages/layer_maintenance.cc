#include "packages/layer_maintenance.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/log.h"
#include "packages/package_events.h"

namespace glovebox::packages {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDropStep{50};
constexpr LayerIndex::TooMuch kBounds[] = {LayerIndex::TooMuch::kBytes,
                                           LayerIndex::TooMuch::kLayers};

QueueOptions check_queue() {
  QueueOptions options;
  options.at_once = 2;
  options.max_waiting = 256;
  options.max_waiting_of_one = 256;
  options.what = "checks of layers";
  return options;
}

std::vector<std::string> projects_of(const LayerIndex::Known& known) {
  return known.manifest ? known.manifest->projects : std::vector<std::string>{};
}

tl::unexpected<Error> no_such_layer() { return fail(Errc::kNotFound, "no such layer"); }

}  // namespace

LayerMaintenance::LayerMaintenance(asio::io_context& io, node::RunService& node, LayerIndex& index,
                                   PackageSetTemplates& templates, BuildPipeline& pipeline,
                                   events::EventHub& events, LayerMaintenanceOptions options)
    : io_(io),
      node_(node),
      index_(index),
      templates_(templates),
      pipeline_(pipeline),
      events_(events),
      options_(std::move(options)),
      checks_(io, check_queue()) {}

LayerMaintenance::Due LayerMaintenance::check_due(const LayerIndex::Known& known) const {
  if (!known.manifest || known.manifest->boot_id != options_.boot_id) return Due::kNow;
  if (options_.check_every.count() == 0) return Due::kNo;
  const std::int64_t since = options_.now_ms() - known.manifest->checked_ms;
  return since < 0 || since >= options_.check_every.count() ? Due::kSoon : Due::kNo;
}

Task<CheckReport> LayerMaintenance::check(std::string id, std::string project,
                                          OnBuildProgress report,
                                          std::shared_ptr<node::CancelFlag> cancel) {
  const LayerIndex::Known* known = index_.find(id);
  if (known == nullptr) co_return no_such_layer();
  CheckReport result;
  result.expected = known->record.digest;
  const BuildQueue::Work work = [this, id](OnBuildProgress progress,
                                           std::shared_ptr<node::CancelFlag> flag) {
    return compare(id, std::move(progress), std::move(flag));
  };
  CO_TRY(result.found, co_await checks_.build(id, std::move(project), work, std::move(report),
                                              std::move(cancel)));
  result.intact = result.found == result.expected;
  co_return result;
}

void LayerMaintenance::check_in_background(const std::string& id) {
  auto checking = [](LayerMaintenance& self, std::string layer) -> asio::awaitable<void> {
    auto never = std::make_shared<node::CancelFlag>();
    OnBuildProgress nothing;
    const Result<CheckReport> report =
        co_await self.check(std::move(layer), "", std::move(nothing), std::move(never));
    if (!report) {
      log::warn("cannot check a layer", {{"error", report.error().message()}});
    }
  };
  asio::co_spawn(io_, checking(*this, id), asio::detached);
}

// Any template of the administrator will do: nothing of it runs in the sandbox that reads.
std::string LayerMaintenance::reading_template(const LayerIndex::Known& known) const {
  if (known.manifest && node_.find_template(known.manifest->template_name) != nullptr) {
    return known.manifest->template_name;
  }
  if (node_.find_template("python") != nullptr) return "python";
  const std::vector<TemplateStatus> all = node_.templates();
  return all.empty() ? "python" : all.front().description.name;
}

Task<std::string> LayerMaintenance::compare(std::string id, OnBuildProgress report,
                                            std::shared_ptr<node::CancelFlag> cancel) {
  const LayerIndex::Known* known = index_.find(id);
  if (known == nullptr) co_return no_such_layer();
  report({BuildPhase::kChecking, ""});
  std::string from = reading_template(*known);
  CO_TRY(std::string found, co_await pipeline_.digest_of(id, std::move(from), std::move(cancel)));
  known = index_.find(id);
  if (known == nullptr) co_return no_such_layer();
  if (found != known->record.digest) {
    CO_TRY_OK(co_await found_corrupt(id, found));
    co_return found;
  }
  if (known->manifest) {
    LayerManifest manifest = *known->manifest;
    manifest.boot_id = options_.boot_id;
    manifest.checked_ms = options_.now_ms();
    // If this fails, the layer is only checked once more than needed.
    Result<> written = co_await index_.write_manifest(id, std::move(manifest));
    if (!written)
      log::warn("cannot write the manifest of a layer", {{"error", written.error().message()}});
  }
  co_return found;
}

Task<> LayerMaintenance::found_corrupt(std::string id, std::string found) {
  const LayerIndex::Known known = *index_.find(id);
  ++corrupt_;
  log::warn("a layer does not match its digest",
            {{"layer", id}, {"expected", known.record.digest}, {"found", found}});
  publish_corrupt(events_, projects_of(known), id, known.record.digest, found);
  // Mark it first, for all servers of the host: it stays while it is in use.
  if (known.manifest) {
    LayerManifest manifest = *known.manifest;
    manifest.corrupt = true;
    Result<> written = co_await index_.write_manifest(id, std::move(manifest));
    if (!written)
      log::warn("cannot write the manifest of a layer", {{"error", written.error().message()}});
  }
  Result<> dropped = co_await drop(id, "it was corrupt");
  if (!dropped && dropped.error().code() != Errc::kNotFound) {
    log::info("cannot drop a corrupt layer yet",
              {{"layer", id}, {"why", dropped.error().message()}});
  }
  co_return Result<>();
}

std::string LayerMaintenance::pinned_by(const LayerIndex::Known& known) const {
  if (!options_.pinned_by || !known.usable()) return "";
  return options_.pinned_by(known.record.id);
}

Task<> LayerMaintenance::drop(std::string id, std::string why) {
  const LayerIndex::Known* there = index_.find(id);
  if (there == nullptr) co_return no_such_layer();
  if (const std::string owner = pinned_by(*there); !owner.empty()) {
    co_return fail(Errc::kConflict, "the layer is in use by " + owner);
  }
  const LayerIndex::Known known = *there;
  const bool released = templates_.release(id) > 0;
  // Warm sandboxes of released templates are ending then.
  const Clock::time_point deadline = Clock::now() + options_.drop_within;
  asio::steady_timer timer(io_);
  while (true) {
    Result<> dropped = co_await index_.drop(id);
    if (dropped) break;
    const bool is_in_use = dropped.error().code() == Errc::kConflict;
    if (!is_in_use) co_return dropped;
    if (!released || Clock::now() >= deadline) {
      co_return fail(Errc::kConflict, "the layer is in use: " + dropped.error().message());
    }
    timer.expires_after(kDropStep);
    co_await timer.async_wait(kAwaitTuple);
  }
  log::info("layer removed", {{"layer", id}, {"why", why}});
  publish_removed(events_, projects_of(known), known.record, why);
  co_return Result<>();
}

bool LayerMaintenance::may_give_way(const LayerIndex::Known& known) const {
  if (!pinned_by(known).empty()) return false;
  return !known.record.in_use ||
         templates_.holds(known.record.id) == PackageSetTemplates::Holds::kIdle;
}

bool LayerMaintenance::is_too_much(LayerIndex::TooMuch what) const {
  if (what == LayerIndex::TooMuch::kLayers) return index_.all().size() > options_.most_layers;
  return options_.disk_ceiling != 0 && index_.bytes() > options_.disk_ceiling;
}

Task<> LayerMaintenance::tidy(std::string but) {
  CO_TRY_OK(co_await index_.load());
  for (const std::string& id : index_.oldest_first(but)) {
    const LayerIndex::Known* known = index_.find(id);
    if (known == nullptr) continue;
    if (!known->manifest || !known->manifest->corrupt) break;  // these come first
    if (!may_give_way(*known)) continue;
    Result<> dropped = co_await drop(id, "it was corrupt");
    if (!dropped && dropped.error().code() == Errc::kUnavailable) co_return dropped;
  }
  for (const LayerIndex::TooMuch what : kBounds) {
    if (!is_too_much(what)) continue;
    const std::string why = what == LayerIndex::TooMuch::kBytes
                                ? "the layers exceeded the disk ceiling (deps.disk_ceiling)"
                                : "there were too many layers";
    const LayerIndex::Stays stays = [this, &but](const LayerIndex::Known& known) {
      return known.record.id == but || !may_give_way(known);
    };
    for (const std::string& id : index_.eviction_order(what, stays)) {
      if (!is_too_much(what)) break;
      const LayerIndex::Known* known = index_.find(id);
      if (known == nullptr || !may_give_way(*known)) continue;
      Result<> dropped = co_await drop(id, why);
      if (!dropped && dropped.error().code() == Errc::kUnavailable) co_return dropped;
    }
  }
  co_return Result<>();
}

Task<> LayerMaintenance::keep_within_share(std::string project) {
  if (options_.disk_ceiling == 0) co_return Result<>();
  const std::uint64_t share = options_.disk_ceiling / 100 * kSharePercent;
  if (index_.bytes_of(project) <= share) co_return Result<>();
  for (const std::string& id : index_.layers_of(project)) {
    if (index_.bytes_of(project) <= share) break;
    const LayerIndex::Known* known = index_.find(id);
    if (known == nullptr || !may_give_way(*known)) continue;
    Result<> dropped = co_await drop(id, "the project's layers exceeded its share of the disk");
    if (!dropped && dropped.error().code() == Errc::kUnavailable) co_return dropped;
  }
  const std::uint64_t left = index_.bytes_of(project);
  if (left <= share) co_return Result<>();
  co_return fail(Error(Errc::kResourceExhausted,
                       "the project's package sets that are pinned or in use take " +
                           std::to_string(left >> 20) + " MB of the " +
                           std::to_string(share >> 20) +
                           " MB that it may use: remove a template or a snapshot that uses one",
                       ENOSPC));
}

Task<PruneReport> LayerMaintenance::prune(PruneRequest request) {
  CO_TRY_OK(co_await index_.load());
  PruneReport report;
  const std::int64_t unused_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(request.unused_for).count();
  for (const std::string& id : index_.oldest_first("")) {
    const LayerIndex::Known* known = index_.find(id);
    if (known == nullptr) continue;
    const LayerRecord record = known->record;
    const std::int64_t since = options_.now_ms() - std::max(record.used_ms, record.made_ms);
    if (unused_ms > 0 && since < unused_ms) continue;
    if (!pinned_by(*known).empty()) continue;
    if (record.in_use && templates_.holds(id) != PackageSetTemplates::Holds::kIdle) continue;
    if (!request.dry_run) {
      Result<> dropped = co_await drop(id, "it was pruned");
      if (!dropped) {
        if (dropped.error().code() == Errc::kUnavailable) co_return fail(dropped.error());
        continue;
      }
    }
    report.removed.push_back(id);
    report.bytes += record.bytes;
  }
  co_return report;
}

}  // namespace glovebox::packages
