#include "sessions/session_reconciler.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <set>
#include <utility>

#include "base/log.h"

namespace glovebox::sessions {
namespace {

std::string why_ended(const node::SessionEnded& ended) {
  if (ended.launcher_lost) return "the launcher ended";
  if (!ended.why.empty()) return ended.why;
  if (ended.reason == EndReason::kAgentKilled && ended.usage.oom_kills > 0) {
    return "its first process ran out of memory and was killed";
  }
  switch (ended.reason) {
    case EndReason::kExited:
      return "its first process ended";
    case EndReason::kDestroyed:
      return "the launcher ended it";
    case EndReason::kWallTimeout:
    case EndReason::kCpuTimeout:
      return "its time limit was reached";
    case EndReason::kAgentKilled:
      return "its first process was killed";
  }
  return "it ended";
}

}  // namespace

void SessionReconciler::start() {
  const std::weak_ptr<char> life = life_;
  service_.on_session_ended([this, life](const node::SessionEnded& ended) {
    if (!life.expired()) on_ended(ended);
  });
  service_.on_adopted([this, life] {
    if (!life.expired() && !is_stopping_) asio::co_spawn(io_, reconcile(), asio::detached);
  });
  asio::co_spawn(io_, tick_loop(), asio::detached);
}

void SessionReconciler::stop() {
  is_stopping_ = true;
  timer_.cancel();
}

asio::awaitable<void> SessionReconciler::tick_loop() {
  const std::weak_ptr<char> life = life_;
  Steady::time_point next_look = Steady::now();
  while (true) {
    if (service_.adopted()) expire_due();
    if (Steady::now() >= next_look) {
      next_look = Steady::now() + options_.reconcile_every;
      save_unsaved();
      asio::co_spawn(io_, reconcile(), asio::detached);
    }
    timer_.expires_after(options_.tick);
    co_await timer_.async_wait(kAwaitTuple);
    if (life.expired() || is_stopping_) co_return;
  }
}

void SessionReconciler::expire_due() {
  for (const EntryPtr& entry : registry_.take_expired(Steady::now())) {
    asio::co_spawn(io_, expire(entry), asio::detached);
  }
}

Task<> SessionReconciler::expire(EntryPtr entry) {
  store::SessionRecord& record = entry->record;
  if (record.state == SessionState::kPaused) {
    co_return co_await lifecycle_.end_and_destroy(
        entry, SessionState::kStopped, EndCause::kPausedTooLong, "it was paused for too long");
  }
  if (record.on_timeout == OnTimeout::kKill || record.state != SessionState::kRunning) {
    co_return co_await lifecycle_.end_and_destroy(entry, SessionState::kStopped, EndCause::kTtl,
                                                  "ttl");
  }
  // A request that holds the lock uses the session, which expires when the request is done.
  Result<> locked = co_await entry->lock.lock(never_cancelled());
  if (!locked) {  // too many requests wait for the lock: the session is in use
    if (!is_over(record.state) && !entry->deadline) registry_.set_deadline(entry, options_.tick);
    co_return locked;
  }
  Result<> paused;
  {
    const EntryUnlock unlock(entry);
    // Unless a request has ended it, paused it or kept it alive meanwhile.
    if (record.state == SessionState::kRunning && !entry->deadline) {
      paused = co_await lifecycle_.pause_entry(entry, "ttl", kept_at_timeout(record.on_timeout));
    }
  }
  if (paused || record.state != SessionState::kRunning) co_return Result<>();
  const bool is_full = paused.error().code() == Errc::kResourceExhausted;
  co_return co_await lifecycle_.end_and_destroy(entry, SessionState::kStopped,
                                                is_full ? EndCause::kPausedCeiling : EndCause::kTtl,
                                                "ttl; not paused: " + paused.error().message());
}

void SessionReconciler::on_ended(const node::SessionEnded& ended) {
  // A server that stops releases its sessions, which keep running.
  if (is_stopping_) return;
  const EntryPtr entry = registry_.find("*", ended.id.str());
  if (!entry || is_over(entry->record.state)) return;
  registry_.end(entry, ended.was_asked ? SessionState::kStopped : SessionState::kError,
                ended.launcher_lost ? EndCause::kLauncherLost : EndCause::kAgentLost,
                why_ended(ended));
  asio::co_spawn(io_, registry_.save(entry), asio::detached);
}

void SessionReconciler::save_unsaved() {
  for (const auto& [id, entry] : registry_.entries()) {
    if (entry->is_stored && entry->is_unsaved) {
      asio::co_spawn(io_, registry_.save(entry), asio::detached);
    }
  }
}

// Sandboxes that have had no living record for longer than the grace period.
std::vector<SandboxId> SessionReconciler::find_orphans(const std::vector<SandboxId>& on_node) {
  const Steady::time_point now = Steady::now();
  std::vector<SandboxId> due;
  std::map<SandboxId, Steady::time_point> orphans;
  for (const SandboxId& id : on_node) {
    const EntryPtr entry = registry_.find("*", id.str());
    if (entry && !is_over(entry->record.state)) continue;
    const auto since = orphans_.find(id);
    const Steady::time_point first = since == orphans_.end() ? now : since->second;
    orphans.emplace(id, first);
    if (now - first >= options_.orphan_age) due.push_back(id);
  }
  orphans_ = std::move(orphans);
  return due;
}

Task<> SessionReconciler::reconcile() {
  if (is_stopping_ || !service_.adopted()) co_return Result<>();
  const bool is_first = !std::exchange(is_reconciled_, true);
  if (is_first) networks_.restore();
  const std::vector<SandboxId> on_node = service_.sessions();
  const std::set<SandboxId> alive(on_node.begin(), on_node.end());
  const std::vector<SandboxId> orphans = find_orphans(on_node);

  std::vector<EntryPtr> lost;         // their sandbox no longer exists
  std::vector<EntryPtr> interrupted;  // an earlier server may have died while changing them
  for (const auto& [id, entry] : registry_.entries()) {
    if (is_over(entry->record.state)) continue;
    if (alive.count(entry->record.id) == 0) {
      lost.push_back(entry);
      continue;
    }
    const auto session = service_.find_session(entry->record.id);
    if (session) session->set_owner(entry->record.project);
    if (is_first) interrupted.push_back(entry);
  }
  for (const EntryPtr& entry : lost) {
    if (is_over(entry->record.state)) continue;
    registry_.end(entry, SessionState::kError, is_first ? EndCause::kLauncherLost : EndCause::kGone,
                  is_first ? "the launcher ended while no server was running"
                           : "its sandbox no longer exists");
  }
  for (const EntryPtr& entry : lost) {
    Result<> saved = co_await registry_.save(entry);
    if (!saved) log::warn("sandbox not stored", {{"error", saved.error().message()}});
  }
  for (const EntryPtr& entry : interrupted) {
    Result<> restored = co_await restore_state(entry);
    if (!restored) {
      log::warn("sandbox state not restored",
                {{"sandbox", entry->record.id.str()}, {"error", restored.error().message()}});
    }
  }
  for (const SandboxId& id : orphans) {
    log::warn("sandbox without a record", {{"sandbox", id.str()}});
    Result<> destroyed = co_await service_.destroy_session(id);
    if (!destroyed) log::debug("sandbox not destroyed", {{"sandbox", id.str()}});
  }
  co_return Result<>();
}

// An earlier server may have died between a change and storing it; the stored record decides.
Task<> SessionReconciler::restore_state(EntryPtr entry) {
  switch (entry->record.state) {
    case SessionState::kPending:
    case SessionState::kStarting:
      co_return co_await lifecycle_.end_and_destroy(entry, SessionState::kError, EndCause::kFailed,
                                                    "the server ended while it was being created");
    case SessionState::kRunning:
      co_return co_await service_.resume_session(entry->record.id);
    case SessionState::kPaused:
      co_return co_await service_.pause_session(entry->record.id);
    case SessionState::kStopped:
    case SessionState::kError:
      break;
  }
  co_return Result<>();
}

}  // namespace glovebox::sessions
