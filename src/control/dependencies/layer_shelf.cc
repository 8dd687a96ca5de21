#include "control/dependencies/layer_shelf.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/log.h"
#include "control/dependencies/set_events.h"

namespace glovebox::control {
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

std::vector<std::string> projects_of(const LayerMemory::Known& known) {
  return known.note ? known.note->projects : std::vector<std::string>{};
}

tl::unexpected<Error> no_such_layer() { return fail(Errc::kNotFound, "there is no such layer"); }

}  // namespace

LayerShelf::LayerShelf(asio::io_context& io, node::RunService& node, LayerMemory& memory,
                       SetTemplates& templates, BuildPipeline& pipeline, EventHub& events,
                       LayerShelfOptions options)
    : io_(io),
      node_(node),
      memory_(memory),
      templates_(templates),
      pipeline_(pipeline),
      events_(events),
      options_(std::move(options)),
      checks_(io, check_queue()) {}

LayerShelf::Due LayerShelf::check_due(const LayerMemory::Known& known) const {
  if (!known.note || known.note->boot_id != options_.boot_id) return Due::kNow;
  if (options_.check_every.count() == 0) return Due::kNo;
  const std::int64_t since = options_.now_ms() - known.note->checked_ms;
  return since < 0 || since >= options_.check_every.count() ? Due::kSoon : Due::kNo;
}

Task<CheckReport> LayerShelf::check(std::string id, std::string project, OnBuildWord say,
                                    std::shared_ptr<node::CancelFlag> cancel) {
  const LayerMemory::Known* known = memory_.find(id);
  if (known == nullptr) co_return no_such_layer();
  CheckReport report;
  report.expected = known->record.digest;
  const BuildQueue::Work work = [this, id](OnBuildWord told,
                                           std::shared_ptr<node::CancelFlag> flag) {
    return compare(id, std::move(told), std::move(flag));
  };
  CO_TRY(report.found,
         co_await checks_.build(id, std::move(project), work, std::move(say), std::move(cancel)));
  report.intact = report.found == report.expected;
  co_return report;
}

void LayerShelf::check_behind(const std::string& id) {
  auto checking = [](LayerShelf& self, std::string layer) -> asio::awaitable<void> {
    auto nobody = std::make_shared<node::CancelFlag>();
    OnBuildWord nothing;
    const Result<CheckReport> report =
        co_await self.check(std::move(layer), "", std::move(nothing), std::move(nobody));
    if (!report) {
      log::warn("a layer could not be checked", {{"error", report.error().message()}});
    }
  };
  asio::co_spawn(io_, checking(*this, id), asio::detached);
}

// One of the administrator's that is there: nothing of it runs in the sandbox that reads.
std::string LayerShelf::reading_template(const LayerMemory::Known& known) const {
  if (known.note && node_.find_template(known.note->template_name) != nullptr) {
    return known.note->template_name;
  }
  if (node_.find_template("python") != nullptr) return "python";
  const std::vector<TemplateStatus> all = node_.templates();
  return all.empty() ? "python" : all.front().description.name;
}

Task<std::string> LayerShelf::compare(std::string id, OnBuildWord say,
                                      std::shared_ptr<node::CancelFlag> cancel) {
  const LayerMemory::Known* known = memory_.find(id);
  if (known == nullptr) co_return no_such_layer();
  say({BuildPhase::kChecking, ""});
  std::string from = reading_template(*known);
  CO_TRY(std::string found, co_await pipeline_.digest_of(id, std::move(from), std::move(cancel)));
  known = memory_.find(id);
  if (known == nullptr) co_return no_such_layer();
  if (found != known->record.digest) {
    CO_TRY_OK(co_await found_corrupt(id, found));
    co_return found;
  }
  if (known->note) {
    LayerNote note = *known->note;
    note.boot_id = options_.boot_id;
    note.checked_ms = options_.now_ms();
    // Else it is compared once more than needed.
    Result<> written = co_await memory_.write_note(id, std::move(note));
    if (!written) log::warn("a layer's note", {{"error", written.error().message()}});
  }
  co_return found;
}

Task<> LayerShelf::found_corrupt(std::string id, std::string found) {
  const LayerMemory::Known known = *memory_.find(id);
  ++corrupt_;
  log::warn("a layer is not what was kept",
            {{"layer", id}, {"expected", known.record.digest}, {"found", found}});
  tell_corrupt(events_, projects_of(known), id, known.record.digest, found);
  // First the mark, which holds for all servers of the host: while it is in use it stays.
  if (known.note) {
    LayerNote note = *known.note;
    note.corrupt = true;
    Result<> written = co_await memory_.write_note(id, std::move(note));
    if (!written) log::warn("a layer's note", {{"error", written.error().message()}});
  }
  Result<> dropped = co_await drop(id, "it was corrupt");
  if (!dropped && dropped.error().code() != Errc::kNotFound) {
    log::info("a corrupt layer stays for now", {{"layer", id}, {"why", dropped.error().message()}});
  }
  co_return Result<>();
}

std::string LayerShelf::pinned_by(const LayerMemory::Known& known) const {
  if (!options_.pinned_by || !known.usable()) return "";
  return options_.pinned_by(known.record.id);
}

Task<> LayerShelf::drop(std::string id, std::string why) {
  const LayerMemory::Known* there = memory_.find(id);
  if (there == nullptr) co_return no_such_layer();
  if (const std::string whose = pinned_by(*there); !whose.empty()) {
    co_return fail(Errc::kConflict, "the layer is in use by " + whose);
  }
  const LayerMemory::Known known = *there;
  const bool released = templates_.release(id) > 0;
  // Sandboxes that only waited are on their way out then.
  const Clock::time_point deadline = Clock::now() + options_.drop_within;
  asio::steady_timer timer(io_);
  while (true) {
    Result<> dropped = co_await memory_.drop(id);
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

Task<> LayerShelf::tidy(std::string but) {
  CO_TRY_OK(co_await memory_.load());
  for (const std::string& id : memory_.oldest_first(but)) {
    const LayerMemory::Known* known = memory_.find(id);
    if (known == nullptr) continue;
    const bool is_corrupt = known->note && known->note->corrupt;
    const bool is_too_much = options_.disk_ceiling != 0 && memory_.bytes() > options_.disk_ceiling;
    if (!is_corrupt && !is_too_much) break;
    if (!pinned_by(*known).empty()) continue;
    if (known->record.in_use && templates_.holds(id) != SetTemplates::Holds::kIdle) continue;
    std::string why = is_corrupt ? "it was corrupt" : "all layers together were too large";
    Result<> dropped = co_await drop(id, std::move(why));
    if (!dropped && dropped.error().code() == Errc::kUnavailable) co_return dropped;
  }
  co_return Result<>();
}

Task<PruneReport> LayerShelf::prune(PruneWish wish) {
  CO_TRY_OK(co_await memory_.load());
  PruneReport report;
  const std::int64_t unused_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(wish.unused_for).count();
  for (const std::string& id : memory_.oldest_first("")) {
    const LayerMemory::Known* known = memory_.find(id);
    if (known == nullptr) continue;
    const LayerRecord record = known->record;
    const std::int64_t since = options_.now_ms() - std::max(record.used_ms, record.made_ms);
    if (unused_ms > 0 && since < unused_ms) continue;
    if (!pinned_by(*known).empty()) continue;
    if (record.in_use && templates_.holds(id) != SetTemplates::Holds::kIdle) continue;
    if (!wish.dry_run) {
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

}  // namespace glovebox::control
