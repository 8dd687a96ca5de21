// Finding sessions, changing their states, storing that. See session_keeper.h.
#include "control/session_keeper.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/log.h"
#include "control/clock.h"
#include "control/session_words.h"
#include "control/store_call.h"

namespace glovebox::control {
namespace {

tl::unexpected<Error> no_such_sandbox() {
  return fail(Errc::kNotFound, "there is no such sandbox");
}

}  // namespace

tl::unexpected<Error> wrong_state(SessionState state) {
  return fail(Errc::kConflict, "the sandbox is " + std::string(session_state_name(state)));
}

SessionKeeper::SessionKeeper(asio::io_context& io, node::SessionService& service,
                             node::RunService& node, store::Store& store, KeeperOptions options)
    : io_(io),
      service_(service),
      node_(node),
      store_(store),
      options_(std::move(options)),
      shelf_(io, store, options_.shelf),
      tick_timer_(io),
      sample_timer_(io) {}

SessionKeeper::~SessionKeeper() { stop(); }

Result<> SessionKeeper::begin(EventHub& events, store::KeyUsage& usage) {
  events_ = &events;
  usage_ = &usage;
  TRY_OK(shelf_.load());
  TRY(const std::vector<store::SessionRecord> living, store_.living_sessions());
  const std::int64_t now_ms = wall_clock_ms();
  for (const store::SessionRecord& record : living) {
    auto entry = std::make_shared<Entry>(io_, record);
    entry->is_stored = true;
    if (auto key = store::KeyId::parse(record.key_id)) {
      entry->memory = usage.hold(*key, record.limits.memory_bytes + record.limits.disk_bytes);
    }
    add(entry);
    // From here on the wall clock may jump.
    const std::int64_t left = std::max<std::int64_t>(record.expires_ms - now_ms, 0);
    entry->deadline = Steady::now() + std::chrono::milliseconds(left);
    deadlines_.emplace(*entry->deadline, record.id.str());
  }
  const std::weak_ptr<char> life = life_;
  service_.on_session_ended([this, life](const node::SessionEnded& ended) {
    if (!life.expired()) on_ended(ended);
  });
  service_.on_adopted([this, life] {
    if (!life.expired() && !stopping_) asio::co_spawn(io_, reconcile(), asio::detached);
  });
  asio::co_spawn(io_, tick_loop(), asio::detached);
  asio::co_spawn(io_, sample_loop(), asio::detached);
  return {};
}

void SessionKeeper::stop() {
  stopping_ = true;
  tick_timer_.cancel();
  sample_timer_.cancel();
}

std::optional<store::SessionRecord> SessionKeeper::of_agent(const std::string& project,
                                                            const std::string& agent_id) const {
  const auto found = agents_.find({project, agent_id});
  if (found == agents_.end()) return std::nullopt;
  return found->second->record;
}

void SessionKeeper::add(const EntryPtr& entry) {
  const store::SessionRecord& record = entry->record;
  entries_[record.id.str()] = entry;
  if (!record.agent_id.empty()) agents_[{record.project, record.agent_id}] = entry;
  count(entry, 1);
}

void SessionKeeper::count(const EntryPtr& entry, int how) {
  const auto step = static_cast<std::uint64_t>(how);  // wraps round, and back
  switch (entry->record.state) {
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
      std::uint64_t& paused = paused_[entry->record.project];
      paused += step;
      if (paused == 0) paused_.erase(entry->record.project);
      break;
    }
    case SessionState::kStopped:
    case SessionState::kError:
      break;
  }
}

Result<> SessionKeeper::set_state(const EntryPtr& entry, SessionState to, std::string reason) {
  store::SessionRecord& record = entry->record;
  if (!may_become(record.state, to)) return wrong_state(record.state);
  count(entry, -1);
  record.state = to;
  record.reason = std::move(reason);
  count(entry, 1);
  return {};
}

void SessionKeeper::set_deadline(const EntryPtr& entry,
                                 std::optional<std::chrono::milliseconds> from_now) {
  store::SessionRecord& record = entry->record;
  if (entry->deadline) deadlines_.erase({*entry->deadline, record.id.str()});
  entry->deadline.reset();
  if (!from_now) return;
  entry->deadline = Steady::now() + *from_now;
  deadlines_.emplace(*entry->deadline, record.id.str());
  record.expires_ms = wall_clock_ms() + from_now->count();
}

void SessionKeeper::end(const EntryPtr& entry, SessionState to, EndCause cause,
                        std::string reason) {
  if (!set_state(entry, to, std::move(reason))) return;  // it is over already
  store::SessionRecord& record = entry->record;
  record.ended_ms = wall_clock_ms();
  set_deadline(entry, std::nullopt);
  entry->is_unsaved = true;
  entry->memory.release();
  ++figures_.ended[static_cast<std::size_t>(cause)];
  const auto agent = agents_.find({record.project, record.agent_id});
  if (agent != agents_.end() && agent->second == entry) agents_.erase(agent);
  ended_.push_back(record.id.str());
  while (ended_.size() > kEndedKept) {
    const auto oldest = entries_.find(ended_.front());
    if (oldest != entries_.end() && oldest->second->is_stored && oldest->second->is_unsaved) break;
    if (oldest != entries_.end()) entries_.erase(oldest);
    ended_.pop_front();
  }
  const std::string_view state = session_state_name(to);
  note(record.id, state, record.reason, 0);
  tell(entry, state);
}

Task<> SessionKeeper::save(EntryPtr entry) {
  if (!entry->is_stored) co_return Result<>();
  entry->is_unsaved = false;
  const Ask<void> ask = [&](store::Callback<> done) {
    store_.save_session(entry->record, std::move(done));
  };
  Result<> saved = co_await store_call(ask);
  if (saved) co_return saved;
  // Over there, and here too: it was saved twice.
  if (saved.error().code() == Errc::kConflict && is_over(entry->record.state)) co_return Result<>();
  entry->is_unsaved = true;
  co_return fail(std::move(saved.error())
                     .context("the sandbox is " +
                              std::string(session_state_name(entry->record.state)) +
                              ", but that could not be stored yet"));
}

void SessionKeeper::tell(const EntryPtr& entry, std::string_view what) {
  const store::SessionRecord& record = entry->record;
  log::info("sandbox", {{"sandbox", record.id.str()},
                        {"what", std::string(what)},
                        {"project", record.project},
                        {"reason", record.reason}});
  if (events_ != nullptr) {
    events_->publish(record.project, "sandbox." + std::string(what), session_event(record));
  }
}

SessionKeeper::EntryPtr SessionKeeper::find(const std::string& project, std::string_view id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  return project == "*" || found->second->record.project == project ? found->second : nullptr;
}

Task<SessionKeeper::EntryPtr> SessionKeeper::living(std::string project, std::string id) {
  EntryPtr entry = find(project, id);
  if (entry && !is_over(entry->record.state)) co_return entry;
  CO_TRY(const store::SessionRecord record, co_await get(std::move(project), std::move(id)));
  co_return wrong_state(record.state);
}

Task<store::SessionRecord> SessionKeeper::get(std::string project, std::string id) {
  if (const EntryPtr entry = find(project, id)) co_return entry->record;
  auto parsed = SandboxId::parse(id);
  // An id that cannot be is an id that is not there.
  if (!parsed) co_return no_such_sandbox();
  const Ask<store::SessionRecord> ask = [&](store::Callback<store::SessionRecord> done) {
    store_.get_session(project, *parsed, std::move(done));
  };
  co_return co_await store_call(ask);
}

Result<std::shared_ptr<node::Session>> SessionKeeper::use(const std::string& project,
                                                          std::string_view id) {
  const EntryPtr entry = find(project, id);
  if (!entry) return no_such_sandbox();
  if (entry->record.state != SessionState::kRunning) return wrong_state(entry->record.state);
  std::shared_ptr<node::Session> session = service_.find_session(entry->record.id);
  if (session && session->alive()) return session;
  if (!service_.adopted()) {
    return fail(Errc::kUnavailable, "the launcher has not told of its sandboxes yet");
  }
  return fail(Errc::kUnavailable, "the sandbox has just ended");
}

std::vector<std::string> SessionKeeper::environment(const SandboxId& id) const {
  const EntryPtr entry = find("*", id.str());
  if (!entry) return {};
  return session_environment(node_, entry->record);
}

void SessionKeeper::note(const SandboxId& id, std::string_view kind, std::string message,
                         std::uint64_t process) {
  const EntryPtr entry = find("*", id.str());
  if (!entry) return;
  store::cut_text(message, Entry::kLineBytes);
  if (entry->lines.size() == Entry::kLines) entry->lines.pop_front();
  entry->lines.push_back({.at_ms = wall_clock_ms(),
                          .kind = std::string(kind),
                          .message = std::move(message),
                          .process = process});
}

Sessions::Door SessionKeeper::door(std::string_view id) {
  auto session = use("*", id);
  if (!session) return {};
  return {std::move(*session), find("*", id)->record.port_token};
}

std::uint64_t SessionKeeper::paused_of(const std::string& project) const {
  const auto paused = paused_.find(project);
  const auto pausing = pausing_.find(project);
  return (paused == paused_.end() ? 0 : paused->second) +
         (pausing == pausing_.end() ? 0 : pausing->second);
}

Result<std::uint64_t> SessionKeeper::ttl_of(std::optional<std::uint64_t> asked) const {
  if (!asked) return std::min(options_.default_ttl_s, options_.max_ttl_s);
  if (*asked > options_.max_ttl_s) {
    return fail(Errc::kPolicy, "ttl_s: at most " + std::to_string(options_.max_ttl_s) +
                                   " is allowed here (sessions.max_ttl)");
  }
  return *asked;
}

std::uint64_t SessionKeeper::running_of(const std::string& project) const {
  std::uint64_t running = 0;
  for (const auto& [id, entry] : entries_) {
    const store::SessionRecord& record = entry->record;
    if (record.state != SessionState::kRunning) continue;
    if (project == "*" || record.project == project) ++running;
  }
  return running;
}

SessionFigures SessionKeeper::figures() const {
  SessionFigures figures = figures_;
  figures.snapshots = shelf_.count();
  figures.snapshot_bytes = shelf_.bytes();
  return figures;
}

}  // namespace glovebox::control
