// What happens to sessions by itself: their time ends, the node loses one, the store falls behind,
// figures are taken. See session_keeper.h.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/log.h"
#include "base/wall_clock.h"
#include "sessions/session_keeper.h"

namespace glovebox::sessions {
namespace {

std::string why_ended(const node::SessionEnded& ended) {
  if (ended.launcher_lost) return "the launcher ended";
  if (!ended.why.empty()) return ended.why;
  if (ended.reason == EndReason::kAgentKilled && ended.usage.oom_kills > 0) {
    return "its first process was killed for want of memory";
  }
  switch (ended.reason) {
    case EndReason::kExited:
      return "its first process ended";
    case EndReason::kDestroyed:
      return "the launcher ended it";
    case EndReason::kWallTimeout:
    case EndReason::kCpuTimeout:
      return "it used up its time";
    case EndReason::kAgentKilled:
      return "its first process was killed";
  }
  return "it ended";
}

SessionSample sample_of(const node::SessionUsage& usage) {
  return {.at_ms = wall_clock_ms(),
          .cpu_us = usage.cpu_us,
          .memory_bytes = usage.memory_bytes,
          .disk_bytes = usage.disk_bytes,
          .processes = usage.processes};
}

}  // namespace

asio::awaitable<void> SessionKeeper::tick_loop() {
  const std::weak_ptr<char> life = life_;
  Steady::time_point next_look = Steady::now();
  while (true) {
    if (service_.adopted()) reap();
    if (Steady::now() >= next_look) {
      next_look = Steady::now() + options_.reconcile_every;
      save_the_unsaved();
      asio::co_spawn(io_, reconcile(), asio::detached);
    }
    tick_timer_.expires_after(options_.tick);
    co_await tick_timer_.async_wait(kAwaitTuple);
    if (life.expired() || stopping_) co_return;
  }
}

void SessionKeeper::reap() {
  const Steady::time_point now = Steady::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const std::string id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    found->second->deadline.reset();
    asio::co_spawn(io_, expire(found->second), asio::detached);
  }
}

Task<> SessionKeeper::expire(EntryPtr entry) {
  store::SessionRecord& record = entry->record;
  if (record.state == SessionState::kPaused) {
    co_return co_await end_and_destroy(entry, SessionState::kStopped, EndCause::kPausedTooLong,
                                       "it was paused for too long");
  }
  if (record.on_timeout == OnTimeout::kKill || record.state != SessionState::kRunning) {
    co_return co_await end_and_destroy(entry, SessionState::kStopped, EndCause::kTtl, "ttl");
  }
  // Whoever has the turn uses it: its time is over when they are done.
  Result<> mine = co_await entry->turns.take(std::make_shared<node::CancelFlag>());
  if (!mine) {  // a crowd: it is in use, then
    if (!is_over(record.state) && !entry->deadline) set_deadline(entry, options_.tick);
    co_return mine;
  }
  Result<> paused;
  // Unless it was ended, paused or kept alive meanwhile.
  if (record.state == SessionState::kRunning && !entry->deadline) {
    paused = co_await pause_entry(entry, "ttl");
  }
  entry->turns.leave();
  if (paused || record.state != SessionState::kRunning) co_return Result<>();
  const bool is_full = paused.error().code() == Errc::kResourceExhausted;
  co_return co_await end_and_destroy(entry, SessionState::kStopped,
                                     is_full ? EndCause::kPausedCeiling : EndCause::kTtl,
                                     "ttl; not paused: " + paused.error().message());
}

void SessionKeeper::on_ended(const node::SessionEnded& ended) {
  // A server that stops lets go of its sessions, and they live on.
  if (stopping_) return;
  const EntryPtr entry = find("*", ended.id.str());
  if (!entry || is_over(entry->record.state)) return;
  end(entry, ended.was_asked ? SessionState::kStopped : SessionState::kError,
      ended.launcher_lost ? EndCause::kLauncherLost : EndCause::kAgentLost, why_ended(ended));
  asio::co_spawn(io_, save(entry), asio::detached);
}

void SessionKeeper::save_the_unsaved() {
  for (const auto& [id, entry] : entries_) {
    if (entry->is_stored && entry->is_unsaved) {
      asio::co_spawn(io_, save(entry), asio::detached);
    }
  }
}

Task<> SessionKeeper::reconcile() {
  if (stopping_ || !service_.adopted()) co_return Result<>();
  const bool is_first = !std::exchange(is_settled_, true);
  if (is_first) restore_networks();
  const std::vector<SandboxId> there = service_.sessions();
  const std::set<SandboxId> alive(there.begin(), there.end());
  const Steady::time_point now = Steady::now();

  // Sandboxes that no record wants.
  std::vector<SandboxId> unwanted;
  std::map<SandboxId, Steady::time_point> orphans;
  for (const SandboxId& id : there) {
    const EntryPtr entry = find("*", id.str());
    if (entry && !is_over(entry->record.state)) continue;
    const auto since = orphans_.find(id);
    const Steady::time_point first = since == orphans_.end() ? now : since->second;
    orphans.emplace(id, first);
    if (now - first >= options_.orphan_age) unwanted.push_back(id);
  }
  orphans_ = std::move(orphans);

  // Records whose sandbox is not there; and at the start, what was cut short.
  std::vector<EntryPtr> lost, cut_short;
  for (const auto& [id, entry] : entries_) {
    if (is_over(entry->record.state)) continue;
    if (alive.count(entry->record.id) == 0) {
      lost.push_back(entry);
    } else if (is_first) {
      cut_short.push_back(entry);
    }
  }
  for (const EntryPtr& entry : lost) {
    if (is_over(entry->record.state)) continue;
    end(entry, SessionState::kError, is_first ? EndCause::kLauncherLost : EndCause::kGone,
        is_first ? "the launcher ended while there was no server"
                 : "its sandbox was not there any more");
  }
  for (const EntryPtr& entry : lost) {
    Result<> saved = co_await save(entry);
    if (!saved) log::warn("sandbox not stored", {{"error", saved.error().message()}});
  }
  for (const EntryPtr& entry : cut_short) {
    Result<> settled = co_await settle(entry);
    if (!settled) {
      log::warn("sandbox not settled",
                {{"sandbox", entry->record.id.str()}, {"error", settled.error().message()}});
    }
  }
  for (const SandboxId& id : unwanted) {
    log::warn("sandbox without a record", {{"sandbox", id.str()}});
    Result<> destroyed = co_await service_.destroy_session(id);
    if (!destroyed) log::debug("sandbox not destroyed", {{"sandbox", id.str()}});
  }
  co_return Result<>();
}

// The server before us may have died between a change and its record; the record is what counts.
Task<> SessionKeeper::settle(EntryPtr entry) {
  switch (entry->record.state) {
    case SessionState::kPending:
    case SessionState::kStarting:
      co_return co_await end_and_destroy(entry, SessionState::kError, EndCause::kFailed,
                                         "the server ended while it was being made");
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

// Spread over the interval: a thousand sessions are a hundred questions per second and not a
// thousand at once.
asio::awaitable<void> SessionKeeper::sample_loop() {
  const std::weak_ptr<char> life = life_;
  while (true) {
    std::vector<EntryPtr> running;
    for (const auto& [id, entry] : entries_) {
      if (entry->record.state == SessionState::kRunning) running.push_back(entry);
    }
    const auto step = options_.sample_every / std::max<std::size_t>(running.size(), 1);
    for (std::size_t i = 0; i < std::max<std::size_t>(running.size(), 1); ++i) {
      sample_timer_.expires_after(step);
      co_await sample_timer_.async_wait(kAwaitTuple);
      if (life.expired() || stopping_) co_return;
      if (i >= running.size() || running[i]->record.state != SessionState::kRunning) continue;
      const EntryPtr entry = running[i];
      Result<node::SessionUsage> usage = co_await service_.measure_session(entry->record.id);
      if (life.expired() || stopping_) co_return;
      if (!usage) continue;
      if (entry->samples.size() == Entry::kSamples) entry->samples.pop_front();
      entry->samples.push_back(sample_of(*usage));
    }
  }
}

Task<SessionKeeper::Measured> SessionKeeper::measure(std::string project, std::string id) {
  CO_TRY(const EntryPtr entry, co_await living(std::move(project), std::move(id)));
  CO_TRY(const node::SessionUsage usage, co_await service_.measure_session(entry->record.id));
  Measured measured{.limits = entry->record.limits,
                    .now = sample_of(usage),
                    .usage = usage,
                    .history = entry->samples};
  co_return measured;
}

Task<std::vector<SessionLine>> SessionKeeper::lines(std::string project, std::string id,
                                                    std::size_t limit) {
  const EntryPtr entry = find(project, id);
  std::vector<SessionLine> lines;
  if (!entry) {
    // One of long ago, or of a server before this: its lines are gone, but it was there.
    CO_TRY_OK(co_await get(std::move(project), std::move(id)));
    co_return lines;
  }
  const std::size_t count = std::min(limit, entry->lines.size());
  lines.assign(entry->lines.end() - static_cast<std::ptrdiff_t>(count), entry->lines.end());
  co_return lines;
}

}  // namespace glovebox::sessions
