#include "packages/package_set_templates.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/log.h"
#include "model/template_rules.h"
#include "packages/builds/build_progress.h"
#include "packages/package_set_key.h"

namespace glovebox::packages {
namespace {

constexpr std::chrono::seconds kWarmWindow{60};
constexpr unsigned kMostWarmAttempts = 3;
// If the interpreter is still idle after this, the launcher has no room for it.
constexpr std::chrono::seconds kStaysIdle{3};

bool has_layer(const TemplateDefinition& definition, const std::string& layer) {
  return definition.image == layer || std::find(definition.layers.begin(), definition.layers.end(),
                                                layer) != definition.layers.end();
}

// The interpreter of an image that a request names by itself: the first run does not wait for it.
bool is_started_beside(const TemplateDefinition& definition, bool is_derived) {
  return is_derived && !definition.image.empty();
}

// Empty: an interpreter waits, or none ever does.
std::string why_cold(const TemplateStatus* status) {
  if (status != nullptr && !status->error.empty()) return status->error;
  const bool has_none = status != nullptr && status->description.runtime != RuntimeKind::kPython;
  const bool is_ready = status != nullptr && status->state == RuntimeState::kReady;
  return has_none || is_ready ? "" : "its interpreter is being started";
}

}  // namespace

Task<PackageSetTemplates::Ready> PackageSetTemplates::ready(
    std::string project, TemplateDefinition definition, OnBuildProgress report,
    std::shared_ptr<node::CancelFlag> cancel) {
  const bool is_derived = definition.id.empty();
  for (unsigned attempt = 0;; ++attempt) {
    if (is_derived) {
      definition.id.clear();
      definition.id = derived_template_id(project, definition, attempt);
    }
    CO_TRY_OK(check_definition(definition));
    CO_TRY(const EntryPtr entry, entry_for(project, definition, is_derived));
    entry->used = options_.now();
    while (entry->busy && !cancel->cancelled()) {
      co_await entry->notifier.wait(Clock::now() + options_.look_every * 20);
    }
    if (cancel->cancelled()) co_return build_cancelled();
    const auto still = all_.find(definition.id);
    if (still == all_.end() || still->second != entry) {
      --attempt;  // the launcher refused the definition, and the entry was erased
      continue;
    }
    if (!must_be_defined(*entry, definition)) {
      const TemplateStatus* status = service_.find(definition.id);
      Ready at_once{definition.id, "", entry};
      if (status->state == RuntimeState::kReady) co_return at_once;
      const bool never_waits = status->description.runtime != RuntimeKind::kPython;
      if (!definition.image.empty() && never_waits) co_return at_once;
      at_once.cold_because = why_cold(status);
      const bool is_starting = status->state == RuntimeState::kStarting;
      if (status->state == RuntimeState::kFailed) co_return at_once;
      if (is_started_beside(definition, is_derived) && is_starting) co_return at_once;
    }
    struct Busy {
      Entry& entry;
      explicit Busy(Entry& one) : entry(one) { entry.busy = true; }
      ~Busy() {
        entry.busy = false;
        entry.notifier.notify_all();
      }
    };
    const Busy busy(*entry);
    if (report) report({BuildPhase::kWarming, ""});
    const bool was_defined = entry->defined;
    Result<> defined = co_await define(entry, definition, cancel);
    if (!defined) {
      if (!was_defined) all_.erase(definition.id);
      // Another server at this launcher uses this id.
      const bool is_taken = is_derived && defined.error().code() == Errc::kConflict;
      if (is_taken && attempt + 1 < kMostWarmAttempts) continue;
      co_return fail(std::move(defined.error()));
    }
    if (is_started_beside(definition, is_derived)) {
      entry->used = options_.now();
      Ready made{definition.id, why_cold(service_.find(definition.id)), entry};
      co_return made;
    }
    CO_TRY(std::string cold_because, co_await warm(entry, cancel));
    entry->used = options_.now();
    if (!cold_because.empty() && report) {
      report({BuildPhase::kWarming, "runs start cold, no interpreter is ready: " + cold_because});
    }
    Ready made{definition.id, std::move(cold_because), entry};
    co_return made;
  }
}

Result<PackageSetTemplates::EntryPtr> PackageSetTemplates::entry_for(
    const std::string& project, const TemplateDefinition& definition, bool is_derived) {
  const auto known = all_.find(definition.id);
  if (known != all_.end()) return known->second;
  if (is_derived) {
    TRY_OK(count_new(project));
    TRY_OK(make_room(project));
  }
  auto entry = std::make_shared<Entry>(io_);
  entry->project = project;
  entry->definition = definition;
  entry->is_derived = is_derived;
  all_.emplace(definition.id, entry);
  return entry;
}

Result<> PackageSetTemplates::count_new(const std::string& project) {
  const Clock::time_point now = options_.now();
  for (auto& [name, times] : made_at_) {
    while (!times.empty() && times.front() + kWarmWindow <= now) times.pop_front();
  }
  std::erase_if(made_at_, [](const auto& one) { return one.second.empty(); });
  std::deque<Clock::time_point>& times = made_at_[project];
  if (times.size() >= options_.most_new_in_a_minute) {
    const auto wait = std::chrono::ceil<std::chrono::seconds>(times.front() + kWarmWindow - now);
    return fail(Errc::kResourceExhausted, "the project reached its limit of " +
                                              std::to_string(options_.most_new_in_a_minute) +
                                              " new package sets per minute; try again in " +
                                              std::to_string(wait.count()) + " s");
  }
  times.push_back(now);
  return {};
}

Result<> PackageSetTemplates::make_room(const std::string& project) {
  std::size_t all = 0;
  std::size_t its = 0;
  for (const auto& [id, entry] : all_) {
    if (!entry->is_derived) continue;
    ++all;
    if (entry->project == project) ++its;
  }
  if (its >= options_.most_of_a_project && !forget_oldest(&project)) {
    return fail(Errc::kResourceExhausted, "the project reached its limit of " +
                                              std::to_string(its) + " package sets in use at once");
  }
  if (all >= options_.most && its < options_.most_of_a_project && !forget_oldest(nullptr)) {
    return fail(Errc::kResourceExhausted, "the server reached its limit of " + std::to_string(all) +
                                              " package sets in use at once; try again later");
  }
  return {};
}

bool PackageSetTemplates::must_be_defined(const Entry& entry,
                                          const TemplateDefinition& definition) const {
  return !entry.defined || entry.definition != definition ||
         service_.find(definition.id) == nullptr || service_.refusal_of(definition.id).has_value();
}

// For a template that is already defined, this restarts its interpreter if it was idle.
Task<> PackageSetTemplates::define(EntryPtr entry, TemplateDefinition definition,
                                   std::shared_ptr<node::CancelFlag> cancel) {
  const Clock::time_point deadline = Clock::now() + options_.launcher_within;
  asio::steady_timer timer(io_);
  bool made_room = false;
  while (true) {
    Result<> defined = co_await service_.define(definition);
    if (defined) break;
    const Errc code = defined.error().code();
    if (code == Errc::kResourceExhausted && !made_room && forget_oldest(nullptr)) {
      made_room = true;
      continue;
    }
    // The launcher is being restarted.
    const bool may_return = code == Errc::kUnavailable && Clock::now() < deadline;
    if (!may_return || cancel->cancelled()) {
      entry->defined = entry->defined && code == Errc::kUnavailable;
      co_return defined;
    }
    timer.expires_after(options_.look_every * 10);
    co_await timer.async_wait(kAwaitTuple);
  }
  if (entry->definition != definition) entry->was_ready = false;
  entry->definition = std::move(definition);
  entry->defined = true;
  co_return Result<>();
}

// Empty if its interpreter is ready, else why it is not.
Task<std::string> PackageSetTemplates::warm(EntryPtr entry,
                                            std::shared_ptr<node::CancelFlag> cancel) {
  const std::string id = entry->definition.id;
  const Clock::time_point began = Clock::now();
  const auto patience = entry->was_ready ? options_.again_within : options_.ready_within;
  asio::steady_timer timer(io_);
  while (true) {
    if (cancel->cancelled()) co_return build_cancelled();
    if (const std::optional<Error> refusal = service_.refusal_of(id)) co_return fail(*refusal);
    const TemplateStatus* status = service_.find(id);
    const RuntimeState state = status != nullptr ? status->state : RuntimeState::kStarting;
    if (state == RuntimeState::kReady) {
      entry->was_ready = true;
      co_return "";
    }
    if (state == RuntimeState::kFailed) {
      co_return status->error.empty() ? "its interpreter failed to start" : status->error;
    }
    if (state == RuntimeState::kRemoved) {
      co_return fail(Errc::kNotFound, "the template of these packages was removed");
    }
    const auto waited = Clock::now() - began;
    if (state == RuntimeState::kIdle && waited > kStaysIdle) {
      co_return "the launcher has no room for its interpreter";
    }
    if (waited > patience) co_return "its interpreter is not ready yet";
    timer.expires_after(options_.look_every);
    co_await timer.async_wait(kAwaitTuple);
  }
}

std::set<std::string> PackageSetTemplates::of_sessions() const {
  std::set<std::string> used;
  for (const SandboxId& id : sessions_.sessions()) {
    if (const auto session = sessions_.find_session(id)) used.insert(session->template_name());
  }
  return used;
}

void PackageSetTemplates::forget(std::map<std::string, EntryPtr>::iterator at) {
  // A project's own template stays until the project removes it.
  if (at->second->is_derived && at->second->defined) service_.forget(at->first);
  all_.erase(at);
}

bool PackageSetTemplates::forget_oldest(const std::string* project) {
  const std::set<std::string> used = of_sessions();
  auto oldest = all_.end();
  for (auto at = all_.begin(); at != all_.end(); ++at) {
    const EntryPtr& entry = at->second;
    if (!entry->is_derived || !is_idle(entry) || used.contains(at->first)) continue;
    if (project != nullptr && entry->project != *project) continue;
    if (oldest == all_.end() || entry->used < oldest->second->used) oldest = at;
  }
  if (oldest == all_.end()) return false;
  log::info("the least recently used package set template is removed",
            {{"template", oldest->first}});
  forget(oldest);
  return true;
}

// False after the project removed the template.
bool PackageSetTemplates::is_project_owned(const Entry& entry) const {
  return !entry.is_derived && service_.find(entry.definition.id) != nullptr;
}

PackageSetTemplates::Holds PackageSetTemplates::holds(const std::string& layer) const {
  const std::set<std::string> used = of_sessions();
  Holds holds = Holds::kNone;
  for (const auto& [id, entry] : all_) {
    if (!has_layer(entry->definition, layer)) continue;
    if (is_project_owned(*entry) || !is_idle(entry) || used.contains(id)) return Holds::kBusy;
    holds = Holds::kIdle;
  }
  return holds;
}

std::size_t PackageSetTemplates::release(const std::string& layer) {
  const std::set<std::string> used = of_sessions();
  std::size_t count = 0;
  for (auto at = all_.begin(); at != all_.end();) {
    const auto next = std::next(at);
    const EntryPtr& entry = at->second;
    if (has_layer(entry->definition, layer) && !is_project_owned(*entry) && is_idle(entry) &&
        !used.contains(at->first)) {
      forget(at);
      ++count;
    }
    at = next;
  }
  return count;
}

void PackageSetTemplates::sweep() {
  const Clock::time_point now = options_.now();
  std::optional<std::set<std::string>> used;
  for (auto at = all_.begin(); at != all_.end();) {
    const auto next = std::next(at);
    if (is_idle(at->second) && now - at->second->used > options_.idle) {
      if (!used) used = of_sessions();
      if (!used->contains(at->first)) forget(at);
    }
    at = next;
  }
}

}  // namespace glovebox::packages
