// What clients ask of sessions: made, ended, paused, resumed, kept, changed. See session_keeper.h.
#include <boost/asio/co_spawn.hpp>

#include "base/log.h"
#include "control/clock.h"
#include "control/exec_words.h"
#include "control/network_words.h"
#include "control/package_plan.h"
#include "control/session_keeper.h"
#include "control/store_call.h"
#include "node/grade.h"

namespace glovebox::control {
namespace {

constexpr std::string_view kNobodyWaits = "nobody waits for it any more";

std::shared_ptr<node::CancelFlag> never() { return std::make_shared<node::CancelFlag>(); }

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

std::chrono::milliseconds as_seconds(std::uint64_t count) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(count) * 1000);
}

}  // namespace

struct SessionKeeper::Turn {
  explicit Turn(EntryPtr whose) : entry(std::move(whose)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { entry->turns.leave(); }
  EntryPtr entry;
};

struct SessionKeeper::AgentTurn {
  AgentTurn(SessionKeeper& the_keeper, std::pair<std::string, std::string> the_key,
            std::shared_ptr<Turns> the_turns)
      : keeper(the_keeper),
        life(the_keeper.life_),
        key(std::move(the_key)),
        turns(std::move(the_turns)) {}
  AgentTurn(const AgentTurn&) = delete;
  AgentTurn& operator=(const AgentTurn&) = delete;
  ~AgentTurn() {
    if (is_mine) turns->leave();
    turns.reset();
    if (life.expired()) return;
    const auto known = keeper.agent_turns_.find(key);
    if (known != keeper.agent_turns_.end() && known->second.expired()) {
      keeper.agent_turns_.erase(known);
    }
  }
  SessionKeeper& keeper;
  std::weak_ptr<char> life;
  std::pair<std::string, std::string> key;
  std::shared_ptr<Turns> turns;
  bool is_mine = false;
};

struct SessionKeeper::Place {
  Place(SessionKeeper& keeper, std::uint64_t& which) : life(keeper.life_), counter(&which) {
    ++which;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { leave(); }
  void leave() {
    if (counter != nullptr && !life.expired()) --*counter;
    counter = nullptr;
  }
  std::weak_ptr<char> life;
  std::uint64_t* counter;
};

// Whether the sandbox that is there is one that was asked for; it cannot be made so.
Result<> check_same(const store::SessionRecord& record, const CreateRequest& request,
                    const TemplateBook* book, const std::optional<Grade>& floor) {
  const auto differs = [&record](const char* what) {
    return fail(Errc::kConflict, "the sandbox of this agent_id, " + record.id.str() +
                                     ", has another " + what + ": leave that out, or end it first");
  };
  const store::TemplateRecord* own =
      book != nullptr ? book->find(record.project, request.template_name) : nullptr;
  const std::string wanted_id = own != nullptr ? own->definition.id : "";
  if (!request.template_name.empty() &&
      (request.template_name != record.template_name || wanted_id != record.template_id)) {
    return differs("template");
  }
  if (!request.snapshot.empty() && request.snapshot != record.snapshot) return differs("snapshot");
  if (!has_dependencies(record.dependencies, request.profile.dependencies)) {
    return differs("set of dependencies");
  }
  if (request.private_ports && record.port_token.empty()) return differs("kind of ports");
  if (request.profile.net && !request.net_is_default &&
      net::canonical_text(*request.profile.net) != record.net) {
    return differs("net");
  }
  TRY_OK(node::check_grade(record.engine, record.walls, request.min_grade));
  return node::check_grade(record.engine, record.walls, floor);
}

// A snapshot is of the template of the sandbox it was made from.
Result<SessionPlan> SessionKeeper::plan_of(
    const CreateRequest& request, const std::string& project,
    const std::optional<store::SnapshotRecord>& snapshot) const {
  std::string name = snapshot                        ? snapshot->template_name
                     : request.template_name.empty() ? "base"
                                                     : request.template_name;
  TemplateScope scope{options_.templates, project};
  if (snapshot) {
    scope.kept = snapshot->dependencies;
    scope.kept_layer = snapshot->layer;
    scope.snapshot = snapshot->id.str();
  }
  auto plan = plan_session(node_, name, request, options_.engine, options_.min_grade, scope);
  if (plan) TRY_OK(check_reach(plan->spec.net, options_.ceiling));
  // By its id: another one may be called so by now.
  const store::TemplateRecord* own =
      options_.templates != nullptr ? options_.templates->find(project, name) : nullptr;
  const bool is_another =
      snapshot && (plan ? plan->template_id != snapshot->template_id
                        : own != nullptr && own->definition.id != snapshot->template_id);
  const bool is_gone = !plan && snapshot && plan.error().code() == Errc::kNotFound;
  if (!is_another && !is_gone) return plan;
  return fail(Errc::kConflict, "snapshot: it was made of the template \"" + name +
                                   "\", which is not there any more");
}

Result<SessionKeeper::Promise> SessionKeeper::promise_of(const CreateRequest& request,
                                                         const std::string& project) const {
  std::optional<store::SnapshotRecord> snapshot;
  if (!request.snapshot.empty()) {
    TRY(snapshot, shelf_.find(project, request.snapshot));
  }
  TRY(SessionPlan plan, plan_of(request, project, snapshot));
  Promise promise{.bytes = plan.spec.limits.memory_bytes + plan.spec.limits.disk_bytes,
                  .set = std::move(plan.set)};
  return promise;
}

Task<SessionKeeper::Created> SessionKeeper::create(CreateRequest request, Owner owner,
                                                   store::Admission admission,
                                                   std::shared_ptr<node::CancelFlag> cancel) {
  if (request.agent_id.empty()) {
    co_return co_await make(std::move(request), std::move(owner), std::move(admission), cancel);
  }
  // One at a time, so that two that come at once get the same sandbox.
  const std::pair<std::string, std::string> key(owner.project, request.agent_id);
  std::shared_ptr<Turns> turns = agent_turns_[key].lock();
  if (!turns) {
    turns = std::make_shared<Turns>(io_);
    agent_turns_[key] = turns;
  }
  AgentTurn turn(*this, key, turns);
  turns.reset();
  CO_TRY_OK(co_await turn.turns->take(cancel));
  turn.is_mine = true;
  CO_TRY(const EntryPtr known, co_await find_agent(owner.project, request.agent_id));
  if (known) {
    CO_TRY_OK(check_same(known->record, request, options_.templates, options_.min_grade));
    Created created{.record = known->record, .is_new = false};
    co_return created;
  }
  co_return co_await make(std::move(request), std::move(owner), std::move(admission), cancel);
}

// Null: there is none, or it ended just now.
Task<SessionKeeper::EntryPtr> SessionKeeper::find_agent(std::string project, std::string agent_id) {
  const auto found = agents_.find({project, agent_id});
  if (found == agents_.end()) co_return nullptr;
  EntryPtr entry = found->second;
  if (entry->record.state == SessionState::kPaused) {
    auto resumed = co_await resume(project, entry->record.id.str());
    if (!resumed && resumed.error().code() != Errc::kConflict) {
      co_return fail(std::move(resumed.error()));
    }
  }
  co_return entry->record.state == SessionState::kRunning ? entry : nullptr;
}

Task<SessionKeeper::Created> SessionKeeper::make(CreateRequest request, Owner owner,
                                                 store::Admission admission,
                                                 std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY(const std::uint64_t ttl_s, ttl_of(request.ttl_s));
  std::optional<store::SnapshotRecord> snapshot;
  if (!request.snapshot.empty()) {
    CO_TRY(snapshot, shelf_.find(owner.project, request.snapshot));
  }
  CO_TRY(SessionPlan plan, plan_of(request, owner.project, snapshot));
  if (plan.spec.template_name.empty()) {
    // It was there for its agent_id a moment ago, and nothing has been prepared for another.
    co_return fail(Errc::kUnavailable, "the sandbox of this agent_id has just ended; ask again");
  }
  const std::uint64_t alive =
      figures_.pending + figures_.starting + figures_.running + figures_.paused;
  if (alive >= options_.max_sessions) {
    ++figures_.refused;
    co_return fail(Errc::kResourceExhausted, "there are " + std::to_string(alive) +
                                                 " sandboxes, and no more may be (sessions.max)");
  }
  // More may be promised to sessions than there is, since most of them sleep; but whoever comes now
  // must be able to have all of it now.
  const std::uint64_t promise = plan.spec.limits.memory_bytes + plan.spec.limits.disk_bytes;
  const std::optional<std::uint64_t> left = options_.available_memory();
  if (left && *left < promise) {
    ++figures_.refused;
    co_return fail(Errc::kResourceExhausted, "the host has " + megabytes(*left) +
                                                 " of memory left, and this sandbox may need " +
                                                 megabytes(promise));
  }

  Place pending(*this, figures_.pending);
  plan.spec.owner = owner.key.str();
  plan.spec.project = owner.project;
  node::SessionSpec spec = plan.spec;
  Result<std::shared_ptr<node::Session>> made =
      co_await service_.create_session(std::move(plan.spec), cancel);
  if (!made && made.error().code() == Errc::kUnsupported && request.net_is_default &&
      !spec.net.is_none()) {
    // Nobody has said that it needs a network, and this host can give none.
    spec.net = {};
    node::SessionSpec without = spec;
    made = co_await service_.create_session(std::move(without), cancel);
  }
  pending.leave();
  if (!made) {
    ++figures_.refused;
    co_return fail(std::move(made.error()));
  }
  const std::shared_ptr<node::Session> session = *made;
  const std::int64_t now_ms = wall_clock_ms();
  store::SessionRecord record{.id = session->id(),
                              .project = owner.project,
                              .key_id = owner.key.str(),
                              .template_name = plan.template_name,
                              .template_id = plan.template_id,
                              .snapshot = request.snapshot,
                              .state = SessionState::kStarting,
                              .agent_id = request.agent_id,
                              .metadata = std::move(request.metadata),
                              .env = joined_environment(std::move(plan.template_env), request.env),
                              .on_timeout = request.on_timeout,
                              .ttl_s = ttl_s,
                              .created_ms = now_ms,
                              .engine = spec.engine,
                              .walls = session->walls(),
                              .limits = spec.limits,
                              .profile = plan.profile_hash,
                              .net = net::canonical_text(spec.net),
                              .dependencies = plan.set ? plan.set->dependencies : Dependencies{},
                              .layer = plan.set ? request.set_layer : std::string()};
  if (request.private_ports) record.port_token = random_label(40);
  const auto entry = std::make_shared<Entry>(io_, std::move(record));
  entry->memory = usage_->hold(owner.key, promise);
  admission.release();
  add(entry);
  Result<> up = co_await bring_up(entry, session, std::move(snapshot), cancel);
  if (!up) {
    const EndCause cause = cancel->cancelled() ? EndCause::kCancelled : EndCause::kFailed;
    // Its own end, if it had one, is the better reason.
    const std::string why =
        is_over(entry->record.state) ? entry->record.reason : up.error().message();
    co_await end_and_destroy(entry, SessionState::kError, cause, why);
    co_return fail(Error(up.error().code(), why, up.error().sys_errno()));
  }
  ++figures_.created;
  Created created{.record = entry->record, .is_new = true};
  co_return created;
}

Task<> SessionKeeper::bring_up(EntryPtr entry, std::shared_ptr<node::Session> session,
                               std::optional<store::SnapshotRecord> snapshot,
                               std::shared_ptr<node::CancelFlag> cancel) {
  store::SessionRecord& record = entry->record;
  set_deadline(entry, as_seconds(record.ttl_s));
  store::SessionRecord first = record;
  if (!snapshot) first.state = SessionState::kRunning;  // one write instead of two
  const Ask<std::int64_t> ask = [&](store::Callback<std::int64_t> done) {
    store_.add_session(first, std::move(done));
  };
  CO_TRY(record.seq, co_await store_call(ask));
  entry->is_stored = true;
  note(record.id, "created", "from " + (snapshot ? snapshot->id.str() : record.template_name), 0);
  tell(entry, "created");
  if (snapshot) {
    Result<> filled = co_await shelf_.fill(session, *snapshot, cancel);
    if (!filled) co_return fail(std::move(filled.error()).context("snapshot"));
  }
  if (cancel->cancelled()) co_return fail(Errc::kUnavailable, std::string(kNobodyWaits));
  // It may have ended before there was an entry to say so in.
  if (!session->alive()) co_return fail(Errc::kUnavailable, "the sandbox ended at once");
  CO_TRY_OK(set_state(entry, SessionState::kRunning, ""));
  if (snapshot) {
    set_deadline(entry, as_seconds(record.ttl_s));
    CO_TRY_OK(co_await save(entry));
  }
  tell(entry, "running");
  co_return Result<>();
}

Task<> SessionKeeper::end_and_destroy(EntryPtr entry, SessionState to, EndCause cause,
                                      std::string reason) {
  const SandboxId id = entry->record.id;
  end(entry, to, cause, std::move(reason));
  Result<> saved = co_await save(entry);
  Result<> destroyed = co_await service_.destroy_session(id);
  // One that could not be destroyed now has no record that wants it: the reconciler tries again.
  if (!destroyed && destroyed.error().code() != Errc::kNotFound) {
    log::warn("sandbox not destroyed",
              {{"sandbox", id.str()}, {"error", destroyed.error().message()}});
  }
  co_return saved;
}

Task<> SessionKeeper::destroy(std::string project, std::string id) {
  CO_TRY(const EntryPtr entry, co_await living(std::move(project), std::move(id)));
  // Waits for nobody's turn: whatever is under way with it ends with it.
  co_return co_await end_and_destroy(entry, SessionState::kStopped, EndCause::kAsked, "deleted");
}

// On the node, and not only in the records.
Result<> SessionKeeper::check_there(const EntryPtr& entry) const {
  if (service_.find_session(entry->record.id)) return {};
  return fail(Errc::kUnavailable, service_.adopted()
                                      ? "the sandbox has just ended"
                                      : "the launcher has not told of its sandboxes yet");
}

Task<> SessionKeeper::pause_entry(EntryPtr entry, std::string reason) {
  store::SessionRecord& record = entry->record;
  if (record.state != SessionState::kRunning) co_return wrong_state(record.state);
  CO_TRY_OK(check_there(entry));
  const std::uint64_t paused = paused_of(record.project);
  if (paused >= options_.max_paused) {
    co_return fail(Errc::kResourceExhausted,
                   std::to_string(paused) +
                       " sandboxes of this project are paused, and no more may be "
                       "(sessions.max_paused)");
  }
  {
    Place place(*this, pausing_[record.project]);
    Result<> done = co_await service_.pause_session(record.id);
    if (is_over(record.state)) co_return wrong_state(record.state);
    if (!done) co_return fail(std::move(done.error()));
  }
  CO_TRY_OK(set_state(entry, SessionState::kPaused, std::move(reason)));
  set_deadline(entry, options_.paused_max);
  note(record.id, "paused", record.reason, 0);
  Result<> saved = co_await save(entry);
  tell(entry, "paused");
  co_return saved;
}

Task<> SessionKeeper::resume_entry(EntryPtr entry) {
  store::SessionRecord& record = entry->record;
  if (record.state != SessionState::kPaused) co_return wrong_state(record.state);
  CO_TRY_OK(check_there(entry));
  Result<> done = co_await service_.resume_session(record.id);
  if (is_over(record.state)) co_return wrong_state(record.state);
  if (!done) co_return fail(std::move(done.error()));
  CO_TRY_OK(set_state(entry, SessionState::kRunning, ""));
  set_deadline(entry, as_seconds(record.ttl_s));  // its time begins anew
  note(record.id, "resumed", "", 0);
  Result<> saved = co_await save(entry);
  tell(entry, "resumed");
  co_return saved;
}

Task<store::SessionRecord> SessionKeeper::pause(std::string project, std::string id) {
  CO_TRY(const EntryPtr entry, co_await living(std::move(project), std::move(id)));
  CO_TRY_OK(co_await entry->turns.take(never()));
  const Turn turn(entry);
  CO_TRY_OK(co_await pause_entry(entry, ""));
  co_return entry->record;
}

Task<store::SessionRecord> SessionKeeper::resume(std::string project, std::string id) {
  CO_TRY(const EntryPtr entry, co_await living(std::move(project), std::move(id)));
  CO_TRY_OK(co_await entry->turns.take(never()));
  const Turn turn(entry);
  CO_TRY_OK(co_await resume_entry(entry));
  co_return entry->record;
}

Task<SessionKeeper::Reached> SessionKeeper::reach(std::string project, std::string id,
                                                  std::uint64_t ttl_s) {
  CO_TRY(const EntryPtr entry, co_await living(std::move(project), std::move(id)));
  CO_TRY(const std::uint64_t wanted, ttl_of(ttl_s));
  CO_TRY_OK(co_await entry->turns.take(never()));
  const Turn turn(entry);
  store::SessionRecord& record = entry->record;
  if (record.state == SessionState::kPaused) {
    record.ttl_s = wanted;
    CO_TRY_OK(co_await resume_entry(entry));
    Reached reached{.record = entry->record, .was_resumed = true};
    co_return reached;
  }
  if (record.state != SessionState::kRunning) co_return wrong_state(record.state);
  // No deadline: it is over, and whoever ends it has not come yet.
  if (!entry->deadline || *entry->deadline < Steady::now() + as_seconds(wanted)) {
    record.ttl_s = wanted;
    set_deadline(entry, as_seconds(wanted));
    CO_TRY_OK(co_await save(entry));
  }
  Reached reached{.record = entry->record, .was_resumed = false};
  co_return reached;
}

asio::awaitable<void> SessionKeeper::wake(std::string id) {
  const EntryPtr entry = find("*", id);
  if (entry == nullptr || entry->record.state != SessionState::kPaused) co_return;
  const auto wish = entry->record.metadata.find(std::string(kAutoResume));
  if (wish == entry->record.metadata.end() || wish->second != "true") co_return;
  const auto resumed = co_await resume(entry->record.project, id);
  // Whoever comes is told that there is none running.
  if (!resumed) log::debug("not woken", {{"sandbox", id}, {"why", resumed.error().message()}});
}

Task<store::SessionRecord> SessionKeeper::keep_alive(std::string project, std::string id,
                                                     std::optional<std::uint64_t> ttl_s) {
  CO_TRY(const EntryPtr entry, co_await living(std::move(project), std::move(id)));
  store::SessionRecord& record = entry->record;
  if (record.state != SessionState::kRunning) co_return wrong_state(record.state);
  if (ttl_s) {
    CO_TRY(record.ttl_s, ttl_of(ttl_s));
  }
  set_deadline(entry, as_seconds(record.ttl_s));
  CO_TRY_OK(co_await save(entry));
  co_return entry->record;
}

Task<store::SessionRecord> SessionKeeper::change(std::string project, std::string id,
                                                 ChangeRequest request) {
  CO_TRY(const EntryPtr entry, co_await living(std::move(project), std::move(id)));
  store::SessionRecord& record = entry->record;
  std::optional<std::uint64_t> ttl_s;
  if (request.ttl_s) {
    CO_TRY(ttl_s, ttl_of(request.ttl_s));
  }
  if (request.net) {
    // All of it or nothing: what is refused was refused before anything has changed.
    CO_TRY_OK(co_await entry->turns.take(never()));
    const Turn turn(entry);
    CO_TRY_OK(co_await set_network(entry, std::move(*request.net)));
  }
  if (ttl_s) {
    record.ttl_s = *ttl_s;
    // That of a paused one begins when it is resumed.
    if (record.state == SessionState::kRunning) set_deadline(entry, as_seconds(record.ttl_s));
  }
  if (request.metadata) record.metadata = std::move(*request.metadata);
  CO_TRY_OK(co_await save(entry));
  co_return entry->record;
}

Task<store::SnapshotRecord> SessionKeeper::snapshot(std::string project, std::string id,
                                                    std::string name,
                                                    std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY(const EntryPtr entry, co_await living(project, id));
  CO_TRY_OK(co_await entry->turns.take(cancel));
  const Turn turn(entry);
  CO_TRY(std::shared_ptr<node::Session> session, use(project, id));
  store::SnapshotRecord wanted{.project = entry->record.project,
                               .name = std::move(name),
                               .sandbox = entry->record.id.str(),
                               .template_name = entry->record.template_name,
                               .template_id = entry->record.template_id,
                               .created_ms = wall_clock_ms(),
                               .dependencies = entry->record.dependencies,
                               .layer = entry->record.layer};
  Result<store::SnapshotRecord> kept =
      co_await shelf_.keep(std::move(session), std::move(wanted), cancel);
  if (!kept && is_over(entry->record.state)) co_return wrong_state(entry->record.state);
  if (kept) {
    note(entry->record.id, "snapshot", kept->id.str(), 0);
    tell(entry, "snapshot");
  }
  co_return kept;
}

}  // namespace glovebox::control
