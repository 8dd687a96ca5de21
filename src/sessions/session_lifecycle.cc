#include "sessions/session_lifecycle.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/over_quota.h"
#include "wire/json/stored_policy.h"

namespace glovebox::sessions {
namespace {

Error cannot_pause() {
  return Error(Errc::kUnsupported,
               "this sandbox cannot be paused: Glovebox has no cgroup on this host in which it may "
               "freeze processes (`glovebox doctor` says how to get one)");
}

}  // namespace

Result<std::uint64_t> SessionLifecycle::ttl_of(std::optional<std::uint64_t> asked) const {
  if (!asked) return std::min(options_.default_ttl_s, options_.max_ttl_s);
  if (*asked > options_.max_ttl_s) {
    return fail(Errc::kPolicy, "ttl_s: at most " + std::to_string(options_.max_ttl_s) +
                                   " is allowed here (sessions.max_ttl)");
  }
  return *asked;
}

Task<> SessionLifecycle::end_and_destroy(EntryPtr entry, SessionState to, EndCause cause,
                                         std::string reason) {
  const SandboxId id = entry->record.id;
  registry_.end(entry, to, cause, std::move(reason));
  Result<> saved = co_await registry_.save(entry);
  Result<> destroyed = co_await service_.destroy_session(id);
  // A sandbox that could not be destroyed has no living record: the reconciler tries again.
  if (!destroyed && destroyed.error().code() != Errc::kNotFound) {
    log::warn("sandbox not destroyed",
              {{"sandbox", id.str()}, {"error", destroyed.error().message()}});
  }
  co_return saved;
}

Task<> SessionLifecycle::destroy(std::string project, std::string id) {
  CO_TRY(const EntryPtr entry, co_await registry_.living(std::move(project), std::move(id)));
  // Without the lock: changes of the session that are in progress end with it.
  co_return co_await end_and_destroy(entry, SessionState::kStopped, EndCause::kAsked, "deleted");
}

Task<> SessionLifecycle::end_processes(const SandboxId& id) {
  const std::shared_ptr<node::Session> session = service_.find_session(id);
  if (!session) co_return fail(Errc::kUnavailable, "the sandbox has just ended");
  co_return co_await session->end_processes();
}

Task<> SessionLifecycle::pause_entry(EntryPtr entry, std::string reason, PauseMode keeps) {
  store::SessionRecord& record = entry->record;
  if (record.state != SessionState::kRunning) co_return fail(wrong_state(record.state));
  CO_TRY_OK(registry_.check_on_node(*entry));
  if (keeps == PauseMode::kFiles && !can_pause(record.walls)) {
    co_return fail(cannot_pause());  // before its processes are ended in vain
  }
  const std::uint64_t paused = registry_.paused_of(record.project);
  if (paused >= options_.max_paused) {
    co_return fail(Errc::kResourceExhausted,
                   std::to_string(paused) +
                       " sandboxes of this project are paused, which is the limit "
                       "(sessions.max_paused); resume or end one first");
  }
  {
    const SessionRegistry::Counted pausing(registry_, registry_.pausing_of(record.project));
    Result<> done;
    if (keeps == PauseMode::kFiles) done = co_await end_processes(record.id);
    if (done) done = co_await service_.pause_session(record.id);
    if (is_over(record.state)) co_return fail(wrong_state(record.state));
    if (!done) co_return fail(std::move(done.error()));
    if (const auto session = service_.find_session(record.id);
        session && keeps == PauseMode::kFiles) {
      const Error why(Errc::kConflict,
                      "the sandbox was paused without its memory, which ended its processes");
      session->abandon_processes(why);
    }
  }
  CO_TRY_OK(registry_.set_state(entry, SessionState::kPaused, std::move(reason)));
  record.paused_files_only = keeps == PauseMode::kFiles;
  registry_.set_deadline(entry, options_.paused_max);
  registry_.note(
      record.id, "paused",
      keeps == PauseMode::kFiles ? "files only: its processes have ended" : record.reason);
  Result<> saved = co_await registry_.save(entry);
  registry_.publish(entry, "paused");
  co_return saved;
}

Task<> SessionLifecycle::resume_entry(EntryPtr entry, PauseMode keeps) {
  store::SessionRecord& record = entry->record;
  if (record.state != SessionState::kPaused) co_return fail(wrong_state(record.state));
  CO_TRY_OK(registry_.check_on_node(*entry));
  Result<> done = co_await service_.resume_session(record.id);
  // Also one that was paused without its memory: a process may have been started while it froze.
  if (done && (keeps == PauseMode::kFiles || record.paused_files_only)) {
    done = co_await end_processes(record.id);
    if (!done) (void)co_await service_.pause_session(record.id);  // as it was
  }
  if (is_over(record.state)) co_return fail(wrong_state(record.state));
  if (!done) co_return fail(std::move(done.error()));
  CO_TRY_OK(registry_.set_state(entry, SessionState::kRunning, ""));
  record.paused_files_only = false;
  registry_.set_deadline(entry, ttl_time(record.ttl_s));  // restart its time to live
  registry_.note(record.id, "resumed", "");
  Result<> saved = co_await registry_.save(entry);
  registry_.publish(entry, "resumed");
  co_return saved;
}

Task<store::SessionRecord> SessionLifecycle::pause(std::string project, std::string id,
                                                   PauseMode keeps) {
  CO_TRY(const EntryPtr entry, co_await registry_.living(std::move(project), std::move(id)));
  CO_TRY_OK(co_await entry->lock.lock(never_cancelled()));
  const EntryUnlock unlock(entry);
  CO_TRY_OK(co_await pause_entry(entry, "", keeps));
  co_return entry->record;
}

Task<store::SessionRecord> SessionLifecycle::resume(std::string project, std::string id) {
  CO_TRY(const EntryPtr entry, co_await registry_.living(std::move(project), std::move(id)));
  CO_TRY_OK(co_await entry->lock.lock(never_cancelled()));
  const EntryUnlock unlock(entry);
  CO_TRY_OK(co_await resume_entry(entry, PauseMode::kMemory));
  co_return entry->record;
}

Task<SessionLifecycle::Connected> SessionLifecycle::connect(std::string project, std::string id,
                                                            std::uint64_t ttl_s, PauseMode keeps) {
  CO_TRY(const EntryPtr entry, co_await registry_.living(std::move(project), std::move(id)));
  CO_TRY(const std::uint64_t wanted, ttl_of(ttl_s));
  CO_TRY_OK(co_await entry->lock.lock(never_cancelled()));
  const EntryUnlock unlock(entry);
  store::SessionRecord& record = entry->record;
  if (record.state == SessionState::kPaused) {
    record.ttl_s = wanted;
    CO_TRY_OK(co_await resume_entry(entry, keeps));
    Connected connected{.record = entry->record, .was_resumed = true};
    co_return connected;
  }
  if (record.state != SessionState::kRunning) co_return fail(wrong_state(record.state));
  // Without a deadline it has expired, and the reconciler is about to end it.
  const auto until = SessionRegistry::Steady::now() + ttl_time(wanted);
  if (!entry->deadline || *entry->deadline < until) {
    record.ttl_s = wanted;
    registry_.set_deadline(entry, ttl_time(wanted));
    CO_TRY_OK(co_await registry_.save(entry));
  }
  Connected connected{.record = entry->record, .was_resumed = false};
  co_return connected;
}

asio::awaitable<void> SessionLifecycle::wake(std::string id) {
  const EntryPtr entry = registry_.find("*", id);
  if (entry == nullptr || entry->record.state != SessionState::kPaused) co_return;
  if (entry->record.paused_files_only) co_return;
  const auto setting = entry->record.metadata.find(std::string(kAutoResume));
  if (setting == entry->record.metadata.end() || setting->second != "true") co_return;
  const auto resumed = co_await resume(entry->record.project, id);
  // The request then gets the error that the sandbox is not running.
  if (!resumed) {
    log::debug("sandbox not resumed", {{"sandbox", id}, {"error", resumed.error().message()}});
  }
}

Task<store::SessionRecord> SessionLifecycle::keep_alive(std::string project, std::string id,
                                                        std::optional<std::uint64_t> ttl_s) {
  CO_TRY(const EntryPtr entry, co_await registry_.living(std::move(project), std::move(id)));
  store::SessionRecord& record = entry->record;
  if (record.state != SessionState::kRunning) co_return fail(wrong_state(record.state));
  if (ttl_s) {
    CO_TRY(record.ttl_s, ttl_of(ttl_s));
  }
  registry_.set_deadline(entry, ttl_time(record.ttl_s));
  CO_TRY_OK(co_await registry_.save(entry));
  co_return entry->record;
}

Task<store::SessionRecord> SessionLifecycle::change(std::string project, std::string id,
                                                    ChangeRequest request) {
  CO_TRY(const EntryPtr entry, co_await registry_.living(std::move(project), std::move(id)));
  store::SessionRecord& record = entry->record;
  std::optional<std::uint64_t> ttl_s;
  if (request.ttl_s) {
    CO_TRY(ttl_s, ttl_of(request.ttl_s));
  }
  if (request.on_timeout && *request.on_timeout != OnTimeout::kKill && !can_pause(record.walls)) {
    co_return fail(cannot_pause());
  }
  if (request.net) {
    // All or nothing: everything that can be refused is checked before the first change.
    CO_TRY_OK(co_await entry->lock.lock(never_cancelled()));
    const EntryUnlock unlock(entry);
    const std::string before = record.net;
    CO_TRY_OK(co_await networks_.set(entry, std::move(*request.net)));
    Result<> saved = co_await registry_.save(entry);
    if (!saved && store::is_over_quota(saved.error())) {
      const Result<> back = co_await networks_.set(entry, wire::stored_policy(before));
      if (!back)
        log::warn("network policy not set back",
                  {{"sandbox", record.id.str()}, {"why", back.error().message()}});
      co_return fail(std::move(saved.error()));
    }
  }
  if (request.on_timeout) record.on_timeout = *request.on_timeout;
  if (ttl_s) {
    record.ttl_s = *ttl_s;
    // The time to live of a paused session starts when it is resumed.
    if (record.state == SessionState::kRunning) {
      registry_.set_deadline(entry, ttl_time(record.ttl_s));
    }
  }
  if (!request.metadata) {
    CO_TRY_OK(co_await registry_.save(entry));
    co_return entry->record;
  }
  const store::Metadata wanted = *request.metadata;
  store::Metadata before = std::exchange(record.metadata, std::move(*request.metadata));
  Result<> saved = co_await registry_.save(entry);
  // Unless another request has changed it meanwhile. It counts as unsaved, and is saved again.
  const bool is_refused = !saved && store::is_over_quota(saved.error());
  if (is_refused && record.metadata == wanted) record.metadata = std::move(before);
  if (!saved) co_return fail(std::move(saved.error()));
  co_return entry->record;
}

}  // namespace glovebox::sessions
