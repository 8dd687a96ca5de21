#include "control/dependencies/set_templates.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/log.h"
#include "control/dependencies/set_key.h"
#include "control/dependencies/words.h"
#include "model/template_rules.h"

namespace glovebox::control {
namespace {

constexpr std::chrono::seconds kWarmWindow{60};
constexpr unsigned kMostWarmAttempts = 3;
// An interpreter that nobody starts: the launcher has no room for it.
constexpr std::chrono::seconds kStaysIdle{3};

bool has_layer(const TemplateDefinition& definition, const std::string& layer) {
  return std::find(definition.layers.begin(), definition.layers.end(), layer) !=
         definition.layers.end();
}

}  // namespace

Task<SetTemplates::Ready> SetTemplates::ready(std::string project, TemplateDefinition definition,
                                              OnBuildWord say,
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
      co_await entry->bell.wait(Clock::now() + options_.look_every * 20);
    }
    if (cancel->cancelled()) co_return nobody_waits();
    const auto still = all_.find(definition.id);
    if (still == all_.end() || still->second != entry) {
      --attempt;  // whoever defined it was refused, and it is not kept
      continue;
    }
    if (!must_be_defined(*entry, definition)) {
      const TemplateStatus* status = service_.find(definition.id);
      Ready at_once{definition.id, "", entry};
      if (status->state == RuntimeState::kReady) co_return at_once;
      at_once.cold_because = status->error;
      if (status->state == RuntimeState::kFailed) co_return at_once;
    }
    struct Busy {
      Entry& entry;
      explicit Busy(Entry& one) : entry(one) { entry.busy = true; }
      ~Busy() {
        entry.busy = false;
        entry.bell.ring();
      }
    };
    const Busy busy(*entry);
    if (say) say({BuildPhase::kWarming, ""});
    const bool was_defined = entry->defined;
    Result<> defined = co_await define(entry, definition, cancel);
    if (!defined) {
      if (!was_defined) all_.erase(definition.id);
      // Another server of this launcher's has one of this id.
      const bool is_taken = is_derived && defined.error().code() == Errc::kConflict;
      if (is_taken && attempt + 1 < kMostWarmAttempts) continue;
      co_return fail(std::move(defined.error()));
    }
    CO_TRY(std::string cold_because, co_await warm(entry, cancel));
    entry->used = options_.now();
    if (!cold_because.empty() && say) {
      say({BuildPhase::kWarming, "its interpreter does not wait, runs are cold: " + cold_because});
    }
    Ready made{definition.id, std::move(cold_because), entry};
    co_return made;
  }
}

Result<SetTemplates::EntryPtr> SetTemplates::entry_for(const std::string& project,
                                                       const TemplateDefinition& definition,
                                                       bool is_derived) {
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

Result<> SetTemplates::count_new(const std::string& project) {
  const Clock::time_point now = options_.now();
  for (auto& [name, times] : made_at_) {
    while (!times.empty() && times.front() + kWarmWindow <= now) times.pop_front();
  }
  std::erase_if(made_at_, [](const auto& one) { return one.second.empty(); });
  std::deque<Clock::time_point>& times = made_at_[project];
  if (times.size() >= options_.most_new_in_a_minute) {
    const auto wait = std::chrono::ceil<std::chrono::seconds>(times.front() + kWarmWindow - now);
    return fail(Errc::kResourceExhausted,
                "the project may begin with " + std::to_string(options_.most_new_in_a_minute) +
                    " new sets of packages per minute, and has; again in " +
                    std::to_string(wait.count()) + " s");
  }
  times.push_back(now);
  return {};
}

Result<> SetTemplates::make_room(const std::string& project) {
  std::size_t all = 0;
  std::size_t its = 0;
  for (const auto& [id, entry] : all_) {
    if (!entry->is_derived) continue;
    ++all;
    if (entry->project == project) ++its;
  }
  if (its >= options_.most_of_a_project && !forget_oldest(&project)) {
    return fail(Errc::kResourceExhausted, "the project uses " + std::to_string(its) +
                                              " sets of packages at once, and no more may be");
  }
  if (all >= options_.most && its < options_.most_of_a_project && !forget_oldest(nullptr)) {
    return fail(Errc::kResourceExhausted, "this server has " + std::to_string(all) +
                                              " sets of packages in use, and no more may be");
  }
  return {};
}

bool SetTemplates::must_be_defined(const Entry& entry, const TemplateDefinition& definition) const {
  return !entry.defined || entry.definition != definition ||
         service_.find(definition.id) == nullptr || service_.refusal_of(definition.id).has_value();
}

// Also starts the interpreter of one that is defined already: one that was idle has none.
Task<> SetTemplates::define(EntryPtr entry, TemplateDefinition definition,
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
    // It is being restarted.
    const bool may_come = code == Errc::kUnavailable && Clock::now() < deadline;
    if (!may_come || cancel->cancelled()) {
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

// Empty when its interpreter waits, else why not.
Task<std::string> SetTemplates::warm(EntryPtr entry, std::shared_ptr<node::CancelFlag> cancel) {
  const std::string id = entry->definition.id;
  const Clock::time_point began = Clock::now();
  const auto patience = entry->was_ready ? options_.again_within : options_.ready_within;
  asio::steady_timer timer(io_);
  while (true) {
    if (cancel->cancelled()) co_return nobody_waits();
    if (const std::optional<Error> refusal = service_.refusal_of(id)) co_return fail(*refusal);
    const TemplateStatus* status = service_.find(id);
    const RuntimeState state = status != nullptr ? status->state : RuntimeState::kStarting;
    if (state == RuntimeState::kReady) {
      entry->was_ready = true;
      co_return "";
    }
    if (state == RuntimeState::kFailed) {
      co_return status->error.empty() ? "its interpreter does not start" : status->error;
    }
    if (state == RuntimeState::kRemoved) {
      co_return fail(Errc::kNotFound, "the template of this set was removed");
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

std::set<std::string> SetTemplates::of_sessions() const {
  std::set<std::string> used;
  for (const SandboxId& id : sessions_.sessions()) {
    if (const auto session = sessions_.find_session(id)) used.insert(session->template_name());
  }
  return used;
}

void SetTemplates::forget(std::map<std::string, EntryPtr>::iterator at) {
  // One of a project's own is there until the project removes it.
  if (at->second->is_derived && at->second->defined) service_.forget(at->first);
  all_.erase(at);
}

bool SetTemplates::forget_oldest(const std::string* project) {
  const std::set<std::string> used = of_sessions();
  auto oldest = all_.end();
  for (auto at = all_.begin(); at != all_.end(); ++at) {
    const EntryPtr& entry = at->second;
    if (!entry->is_derived || !is_idle(entry) || used.contains(at->first)) continue;
    if (project != nullptr && entry->project != *project) continue;
    if (oldest == all_.end() || entry->used < oldest->second->used) oldest = at;
  }
  if (oldest == all_.end()) return false;
  log::info("the template of a set is forgotten", {{"template", oldest->first}});
  forget(oldest);
  return true;
}

// One that its project has removed is nobody's.
bool SetTemplates::is_of_a_project(const Entry& entry) const {
  return !entry.is_derived && service_.find(entry.definition.id) != nullptr;
}

SetTemplates::Holds SetTemplates::holds(const std::string& layer) const {
  const std::set<std::string> used = of_sessions();
  Holds holds = Holds::kNone;
  for (const auto& [id, entry] : all_) {
    if (!has_layer(entry->definition, layer)) continue;
    if (is_of_a_project(*entry) || !is_idle(entry) || used.contains(id)) return Holds::kBusy;
    holds = Holds::kIdle;
  }
  return holds;
}

std::size_t SetTemplates::release(const std::string& layer) {
  const std::set<std::string> used = of_sessions();
  std::size_t count = 0;
  for (auto at = all_.begin(); at != all_.end();) {
    const auto next = std::next(at);
    const EntryPtr& entry = at->second;
    if (has_layer(entry->definition, layer) && !is_of_a_project(*entry) && is_idle(entry) &&
        !used.contains(at->first)) {
      forget(at);
      ++count;
    }
    at = next;
  }
  return count;
}

void SetTemplates::sweep() {
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

}  // namespace glovebox::control
