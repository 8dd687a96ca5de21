#include "sessions/session_registry.h"

#include <algorithm>

#include "base/log.h"
#include "base/wall_clock.h"
#include "node/links/launcher_error.h"
#include "sessions/session_json.h"
#include "sessions/session_plan.h"
#include "store/over_quota.h"
#include "store/store_call.h"

namespace glovebox::sessions {
namespace {

tl::unexpected<Error> no_such_sandbox() {
  return fail(Errc::kNotFound, "there is no such sandbox");
}

}  // namespace

Error wrong_state(SessionState state) {
  return Error(Errc::kConflict, "the sandbox is " + std::string(session_state_name(state)));
}

Result<> SessionRegistry::load(store::KeyUsage& usage) {
  TRY(const std::vector<store::SessionRecord> living, store_.living_sessions());
  const std::int64_t now_ms = wall_clock_ms();
  for (const store::SessionRecord& record : living) {
    auto entry = std::make_shared<SessionEntry>(io_, record);
    entry->is_stored = true;
    if (auto key = store::KeyId::parse(record.key_id)) {
      entry->memory = usage.hold(*key, record.limits.memory_bytes + record.limits.disk_bytes);
    }
    add(entry);
    // The wall clock may jump; from here on only the steady clock counts.
    const std::int64_t left = std::max<std::int64_t>(record.expires_ms - now_ms, 0);
    entry->deadline = Steady::now() + std::chrono::milliseconds(left);
    deadlines_.emplace(*entry->deadline, record.id.str());
  }
  return {};
}

EntryPtr SessionRegistry::agent_entry(const std::string& project,
                                      const std::string& agent_id) const {
  const auto found = agents_.find({project, agent_id});
  return found == agents_.end() ? nullptr : found->second;
}

EntryPtr SessionRegistry::named_entry(const std::string& project, const std::string& name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& one) {
    const store::SessionRecord& record = one.second->record;
    return record.name == name && record.project == project && !is_over(record.state);
  });
  return found == entries_.end() ? nullptr : found->second;
}

std::optional<store::SessionRecord> SessionRegistry::of_agent(const std::string& project,
                                                              const std::string& agent_id) const {
  const EntryPtr entry = agent_entry(project, agent_id);
  if (!entry) return std::nullopt;
  return entry->record;
}

void SessionRegistry::add(const EntryPtr& entry) {
  const store::SessionRecord& record = entry->record;
  entries_[record.id.str()] = entry;
  if (!record.agent_id.empty()) agents_[{record.project, record.agent_id}] = entry;
  count(*entry, 1);
}

void SessionRegistry::count(const SessionEntry& entry, int how) {
  const auto step = static_cast<std::uint64_t>(how);  // -1 wraps round, and back
  switch (entry.record.state) {
    case SessionState::kPending:
      figures_.pending += step;
      break;
    case SessionState::kStarting:
      figures_.starting += step;
      break;
    case SessionState::kRunning:
      figures_.running += step;
      break;
    case SessionState::kPaused: {
      figures_.paused += step;
      std::uint64_t& paused = paused_[entry.record.project];
      paused += step;
      if (paused == 0) paused_.erase(entry.record.project);
      break;
    }
    case SessionState::kStopped:
    case SessionState::kError:
      break;
  }
}

Result<> SessionRegistry::set_state(const EntryPtr& entry, SessionState to, std::string reason) {
  store::SessionRecord& record = entry->record;
  if (!may_become(record.state, to)) return fail(wrong_state(record.state));
  count(*entry, -1);
  record.state = to;
  record.reason = std::move(reason);
  count(*entry, 1);
  return {};
}

void SessionRegistry::set_deadline(const EntryPtr& entry,
                                   std::optional<std::chrono::milliseconds> from_now) {
  store::SessionRecord& record = entry->record;
  if (entry->deadline) deadlines_.erase({*entry->deadline, record.id.str()});
  entry->deadline.reset();
  if (!from_now) return;
  entry->deadline = Steady::now() + *from_now;
  deadlines_.emplace(*entry->deadline, record.id.str());
  record.expires_ms = wall_clock_ms() + from_now->count();
}

std::vector<EntryPtr> SessionRegistry::take_expired(Steady::time_point now) {
  std::vector<EntryPtr> expired;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto found = entries_.find(deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
    if (found == entries_.end()) continue;
    found->second->deadline.reset();
    expired.push_back(found->second);
  }
  return expired;
}

void SessionRegistry::end(const EntryPtr& entry, SessionState to, EndCause cause,
                          std::string reason) {
  if (!set_state(entry, to, std::move(reason))) return;  // already ended
  store::SessionRecord& record = entry->record;
  record.ended_ms = wall_clock_ms();
  store::reduce_to_ended(record);
  set_deadline(entry, std::nullopt);
  entry->is_unsaved = true;
  entry->memory.release();
  ++figures_.ended[static_cast<std::size_t>(cause)];
  const auto agent = agents_.find({record.project, record.agent_id});
  if (agent != agents_.end() && agent->second == entry) agents_.erase(agent);
  ended_[record.project].push_back(record.id.str());
  ++ended_count_;
  forget_oldest_ended();
  const std::string_view state = session_state_name(to);
  note(record.id, state, record.reason);
  publish(entry, state);
}

// Keeps ended sessions whose end is not stored yet: removing them would lose the end.
void SessionRegistry::forget_oldest_ended() {
  while (ended_count_ > kMaxEnded) {
    const auto most = std::max_element(
        ended_.begin(), ended_.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    std::deque<std::string>& ids = most->second;
    const auto oldest = entries_.find(ids.front());
    if (oldest != entries_.end() && oldest->second->is_stored && oldest->second->is_unsaved) break;
    if (oldest != entries_.end()) entries_.erase(oldest);
    ids.pop_front();
    --ended_count_;
    if (ids.empty()) ended_.erase(most);
  }
}

Task<> SessionRegistry::save(EntryPtr entry) {
  if (!entry->is_stored) co_return Result<>();
  entry->is_unsaved = false;
  const store::Ask<void> ask = [&](store::Callback<> done) {
    store_.save_session(entry->record, std::move(done));
  };
  Result<> saved = co_await store::store_call(ask);
  if (saved) co_return saved;
  // Ended there, and here too: it was saved twice.
  if (saved.error().code() == Errc::kConflict && is_over(entry->record.state)) co_return Result<>();
  entry->is_unsaved = true;
  if (store::is_over_quota(saved.error())) co_return saved;  // the change was refused
  co_return fail(std::move(saved.error())
                     .context("the sandbox is " +
                              std::string(session_state_name(entry->record.state)) +
                              ", but that could not be stored yet"));
}

void SessionRegistry::publish(const EntryPtr& entry, std::string_view what) {
  const store::SessionRecord& record = entry->record;
  log::info("sandbox", {{"sandbox", record.id.str()},
                        {"what", std::string(what)},
                        {"project", record.project},
                        {"reason", record.reason}});
  events_.publish(record.project, "sandbox." + std::string(what), session_event(record));
}

EntryPtr SessionRegistry::find(const std::string& project, std::string_view id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  return project == "*" || found->second->record.project == project ? found->second : nullptr;
}

Task<EntryPtr> SessionRegistry::living(std::string project, std::string id) {
  EntryPtr entry = find(project, id);
  if (entry && !is_over(entry->record.state)) co_return entry;
  CO_TRY(const store::SessionRecord record, co_await get(std::move(project), std::move(id)));
  co_return fail(wrong_state(record.state));
}

Task<store::SessionRecord> SessionRegistry::get(std::string project, std::string id) {
  if (const EntryPtr entry = find(project, id)) co_return entry->record;
  auto parsed = SandboxId::parse(id);
  // A malformed id is treated as one that does not exist.
  if (!parsed) co_return no_such_sandbox();
  const store::Ask<store::SessionRecord> ask = [&](store::Callback<store::SessionRecord> done) {
    store_.get_session(project, *parsed, std::move(done));
  };
  co_return co_await store::store_call(ask);
}

Result<> SessionRegistry::check_on_node(const SessionEntry& entry) const {
  const std::shared_ptr<node::Session> session = service_.find_session(entry.record.id);
  if (session) return {};
  if (service_.adopted()) return fail(Errc::kUnavailable, "the sandbox has just ended");
  return fail(node::launcher_error("the launcher has not reported its sandboxes yet"));
}

Result<std::shared_ptr<node::Session>> SessionRegistry::use(const std::string& project,
                                                            std::string_view id) {
  const EntryPtr entry = find(project, id);
  if (!entry) return no_such_sandbox();
  if (entry->record.state == SessionState::kPaused) {
    return fail(Errc::kConflict, "the sandbox is paused; resume it first");
  }
  if (entry->record.state != SessionState::kRunning) {
    return fail(wrong_state(entry->record.state));
  }
  TRY_OK(check_on_node(*entry));
  std::shared_ptr<node::Session> session = service_.find_session(entry->record.id);
  if (session->alive()) return session;
  return fail(Errc::kUnavailable, "the sandbox has just ended");
}

std::vector<std::string> SessionRegistry::environment(const SandboxId& id) const {
  const EntryPtr entry = find("*", id.str());
  if (!entry) return {};
  return session_environment(node_, entry->record);
}

void SessionRegistry::note(const SandboxId& id, std::string_view kind, std::string message,
                           std::uint64_t process) {
  const EntryPtr entry = find("*", id.str());
  if (!entry) return;
  store::cut_text(message, SessionEntry::kLineBytes);
  if (entry->lines.size() == SessionEntry::kLines) entry->lines.pop_front();
  entry->lines.push_back({.at_ms = wall_clock_ms(),
                          .kind = std::string(kind),
                          .message = std::move(message),
                          .process = process});
}

PortAccess SessionRegistry::port_access(std::string_view id) {
  const EntryPtr entry = find("*", id);
  if (!entry) return {};
  PortAccess access{.session = nullptr,
                    .token = entry->record.port_token,
                    .project = entry->record.project,
                    .host_mask = entry->record.host_mask};
  if (auto session = use("*", id)) access.session = std::move(*session);
  return access;
}

Task<std::vector<SessionLine>> SessionRegistry::lines(std::string project, std::string id,
                                                      std::size_t limit) {
  const EntryPtr entry = find(project, id);
  std::vector<SessionLine> lines;
  if (!entry) {
    // It ended long ago or under an earlier server: its log lines are gone, but it existed.
    CO_TRY_OK(co_await get(std::move(project), std::move(id)));
    co_return lines;
  }
  const std::size_t count = std::min(limit, entry->lines.size());
  lines.assign(entry->lines.end() - static_cast<std::ptrdiff_t>(count), entry->lines.end());
  co_return lines;
}

std::uint64_t SessionRegistry::paused_of(const std::string& project) const {
  const auto paused = paused_.find(project);
  const auto pausing = pausing_.find(project);
  return (paused == paused_.end() ? 0 : paused->second) +
         (pausing == pausing_.end() ? 0 : pausing->second);
}

std::uint64_t SessionRegistry::alive_of(const std::string& project) const {
  const auto pending = pending_.find(project);
  const auto known = std::count_if(entries_.begin(), entries_.end(), [&](const auto& one) {
    const store::SessionRecord& record = one.second->record;
    return !is_over(record.state) && record.project == project;
  });
  return static_cast<std::uint64_t>(known) + (pending == pending_.end() ? 0 : pending->second);
}

std::uint64_t SessionRegistry::running_of(const std::string& project) const {
  return static_cast<std::uint64_t>(
      std::count_if(entries_.begin(), entries_.end(), [&](const auto& one) {
        const store::SessionRecord& record = one.second->record;
        return record.state == SessionState::kRunning &&
               (project == "*" || record.project == project);
      }));
}

}  // namespace glovebox::sessions
