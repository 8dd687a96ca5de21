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

QueueOptions check_queue() {
  QueueOptions options;
  options.at_once = 2;
  options.max_waiting = 256;
  options.max_waiting_of_one = 256;
  options.what = "checks of layers";
  return options;
}

std::vector<std::string> projects_of(const LayerIndex::Known& known) {
  return known.note ? known.note->projects : std::vector<std::string>{};
}

tl::unexpected<Error> no_such_layer() { return fail(Errc::kNotFound, "there is no such layer"); }

}  // namespace

LayerMaintenance::LayerMaintenance(asio::io_context& io, node::RunService& node, LayerIndex& memory,
                       PackageSetTemplates& templates, BuildPipeline& pipeline, events::EventHub& events,
                       LayerShelfOptions options)
    : io_(io),
      node_(node),
      index_(memory),
      templates_(templates),
      pipeline_(pipeline),
      events_(events),
      options_(std::move(options)),
      checks_(io, check_queue()) {}

LayerMaintenance::Due LayerMaintenance::check_due(const LayerIndex::Known& known) const {
  if (!known.note || known.note->boot_id != options_.boot_id) return Due::kNow;
  if (options_.check_every.count() == 0) return Due::kNo;
  const std::int64_t since = options_.now_ms() - known.note->checked_ms;
  return since < 0 || since >= options_.check_every.count() ? Due::kSoon : Due::kNo;
}

Task<CheckReport> LayerMaintenance::check(std::string id, std::string project, OnBuildProgress say,
                                    std::shared_ptr<node::CancelFlag> cancel) {
  const LayerIndex::Known* known = index_.find(id);
  if (known == nullptr) co_return no_such_layer();
  CheckReport report;
  report.expected = known->record.digest;
  const BuildQueue::Work work = [this, id](OnBuildProgress told,
                                           std::shared_ptr<node::CancelFlag> flag) {
    return compare(id, std::move(told), std::move(flag));
  };
  CO_TRY(report.found,
         co_await checks_.build(id, std::move(project), work, std::move(say), std::move(cancel)));
  report.intact = report.found == report.expected;
  co_return report;
}

void LayerMaintenance::check_behind(const std::string& id) {
  auto checking = [](LayerMaintenance& self, std::string layer) -> asio::awaitable<void> {
    auto nobody = std::make_shared<node::CancelFlag>();
    OnBuildProgress nothing;
    const Result<CheckReport> report =
        co_await self.check(std::move(layer), "", std::move(nothing), std::move(nobody));
    if (!report) {
      log::warn("a layer could not be checked", {{"error", report.error().message()}});
    }
  };
  asio::co_spawn(io_, checking(*this, id), asio::detached);
}

// One of the administrator's that is there: nothing of it runs in the sandbox that reads.
std::string LayerMaintenance::reading_template(const LayerIndex::Known& known) const {
  if (known.note && node_.find_template(known.note->template_name) != nullptr) {
    return known.note->template_name;
  }
  if (node_.find_template("python") != nullptr) return "python";
  const std::vector<TemplateStatus> all = node_.templates();
  return all.empty() ? "python" : all.front().description.name;
}

Task<std::string> LayerMaintenance::compare(std::string id, OnBuildProgress say,
                                      std::shared_ptr<node::CancelFlag> cancel) {
  const LayerIndex::Known* known = index_.find(id);
  if (known == nullptr) co_return no_such_layer();
  say({BuildPhase::kChecking, ""});
  std::string from = reading_template(*known);
  CO_TRY(std::string found, co_await pipeline_.digest_of(id, std::move(from), std::move(cancel)));
  known = index_.find(id);
  if (known == nullptr) co_return no_such_layer();
  if (found != known->record.digest) {
    CO_TRY_OK(co_await found_corrupt(id, found));
    co_return found;
  }
  if (known->note) {
    LayerManifest note = *known->note;
    note.boot_id = options_.boot_id;
    note.checked_ms = options_.now_ms();
    // Else it is compared once more than needed.
    Result<> written = co_await index_.write_note(id, std::move(note));
    if (!written) log::warn("a layer's note", {{"error", written.error().message()}});
  }
  co_return found;
}

Task<> LayerMaintenance::found_corrupt(std::string id, std::string found) {
  const LayerIndex::Known known = *index_.find(id);
  ++corrupt_;
  log::warn("a layer is not what was kept",
            {{"layer", id}, {"expected", known.record.digest}, {"found", found}});
  tell_corrupt(events_, projects_of(known), id, known.record.digest, found);
  // First the mark, which holds for all servers of the host: while it is in use it stays.
  if (known.note) {
    LayerManifest note = *known.note;
    note.corrupt = true;
    Result<> written = co_await index_.write_note(id, std::move(note));
    if (!written) log::warn("a layer's note", {{"error", written.error().message()}});
  }
  Result<> dropped = co_await drop(id, "it was corrupt");
  if (!dropped && dropped.error().code() != Errc::kNotFound) {
    log::info("a corrupt layer stays for now", {{"layer", id}, {"why", dropped.error().message()}});
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
  if (const std::string whose = pinned_by(*there); !whose.empty()) {
    co_return fail(Errc::kConflict, "the layer is in use by " + whose);
  }
  const LayerIndex::Known known = *there;
  const bool released = templates_.release(id) > 0;
  // Sandboxes that only waited are on their way out then.
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
  tell_removed(events_, projects_of(known), known.record, why);
  co_return Result<>();
}

Task<> LayerMaintenance::tidy(std::string but) {
  CO_TRY_OK(co_await index_.load());
  for (const std::string& id : index_.oldest_first(but)) {
    const LayerIndex::Known* known = index_.find(id);
    if (known == nullptr) continue;
    const bool is_corrupt = known->note && known->note->corrupt;
    const bool is_too_much = options_.disk_ceiling != 0 && index_.bytes() > options_.disk_ceiling;
    if (!is_corrupt && !is_too_much) break;
    if (!pinned_by(*known).empty()) continue;
    if (known->record.in_use && templates_.holds(id) != PackageSetTemplates::Holds::kIdle) continue;
    std::string why = is_corrupt ? "it was corrupt" : "all layers together were too large";
    Result<> dropped = co_await drop(id, std::move(why));
    if (!dropped && dropped.error().code() == Errc::kUnavailable) co_return dropped;
  }
  co_return Result<>();
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
