#include "sessions/session_creator.h"

#include <cerrno>

#include "base/wall_clock.h"
#include "model/environment.h"
#include "net/reach.h"
#include "node/sandboxes/check_grade.h"
#include "packages/package_plan.h"
#include "sessions/processes/process_json.h"
#include "store/store_call.h"

namespace glovebox::sessions {
namespace {

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

// Checks that the existing sandbox of an agent_id is the one that the request describes: an
// existing sandbox cannot be changed to match.
Result<> check_same(const store::SessionRecord& record, const CreateRequest& request,
                    const templates::ProjectTemplates& templates,
                    const std::optional<Grade>& floor) {
  const auto differs = [&record](const char* what) {
    return fail(Errc::kConflict, "the sandbox of this agent_id, " + record.id.str() +
                                     ", has a different " + what +
                                     ": omit it, or end the sandbox first");
  };
  const store::TemplateRecord* own = templates.find(record.project, request.template_name);
  const std::string wanted_id = own != nullptr ? own->definition.id : "";
  if (!request.template_name.empty() &&
      (request.template_name != record.template_name || wanted_id != record.template_id)) {
    return differs("template");
  }
  if (!request.snapshot.empty() && request.snapshot != record.snapshot) return differs("snapshot");
  if (!request.name.empty() && request.name != record.name) return differs("name");
  if (!packages::has_dependencies(record.dependencies, request.profile.dependencies)) {
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

}  // namespace

// Locked by one creation at a time; removed with the last creation that needs it. It may outlive
// the creator, held by a coroutine that was abandoned.
class SessionCreator::AgentLock {
 public:
  AgentLock(SessionCreator& creator, AgentKey key)
      : creator_(creator), life_(creator.life_), key_(std::move(key)) {
    std::weak_ptr<node::AsyncFifoLock>& known = creator.agent_locks_[key_];
    lock_ = known.lock();
    if (!lock_) {
      lock_ = std::make_shared<node::AsyncFifoLock>(creator.deps_.io);
      known = lock_;
    }
  }
  AgentLock(const AgentLock&) = delete;
  AgentLock& operator=(const AgentLock&) = delete;
  ~AgentLock() {
    if (is_held_) lock_->unlock();
    lock_.reset();
    if (life_.expired()) return;
    const auto known = creator_.agent_locks_.find(key_);
    if (known != creator_.agent_locks_.end() && known->second.expired()) {
      creator_.agent_locks_.erase(known);
    }
  }
  Task<> lock(std::shared_ptr<node::CancelFlag> cancel) {
    CO_TRY_OK(co_await lock_->lock(std::move(cancel)));
    is_held_ = true;
    co_return Result<>();
  }

 private:
  SessionCreator& creator_;
  std::weak_ptr<char> life_;
  AgentKey key_;
  std::shared_ptr<node::AsyncFifoLock> lock_;
  bool is_held_ = false;
};

// Keeps a name for a session that is being created, until the registry has it.
class SessionCreator::NameClaim {
 public:
  NameClaim(SessionCreator& creator, std::pair<std::string, std::string> key)
      : creator_(creator), life_(creator.life_), key_(std::move(key)) {
    creator.names_being_given_.insert(key_);
  }
  NameClaim(const NameClaim&) = delete;
  NameClaim& operator=(const NameClaim&) = delete;
  ~NameClaim() {
    if (!life_.expired()) creator_.names_being_given_.erase(key_);
  }

 private:
  SessionCreator& creator_;
  std::weak_ptr<char> life_;
  std::pair<std::string, std::string> key_;
};

Result<std::unique_ptr<SessionCreator::NameClaim>> SessionCreator::claim_name(
    const std::string& project, const std::string& name) {
  if (name.empty()) return std::unique_ptr<NameClaim>();
  const EntryPtr known = deps_.registry.named_entry(project, name);
  if (known || names_being_given_.contains({project, name})) {
    return fail(Error(Errc::kConflict,
                      "a live sandbox of this project already has the name '" + name + "'" +
                          (known ? ": " + known->record.id.str() : std::string()),
                      EEXIST));
  }
  return std::make_unique<NameClaim>(*this, std::pair(project, name));
}

Result<std::optional<store::SnapshotRecord>> SessionCreator::find_snapshot(
    const CreateRequest& request, const std::string& project) const {
  std::optional<store::SnapshotRecord> snapshot;
  if (!request.snapshot.empty()) {
    TRY(snapshot, deps_.snapshots.find(project, request.snapshot));
  }
  return snapshot;
}

// A snapshot has the template of the sandbox it was made from.
Result<SessionPlan> SessionCreator::plan_of(
    const CreateRequest& request, const std::string& project,
    const std::optional<store::SnapshotRecord>& snapshot) const {
  std::string name = snapshot                        ? snapshot->template_name
                     : request.template_name.empty() ? "base"
                                                     : request.template_name;
  TemplateScope scope{&deps_.templates, project};
  if (snapshot) {
    scope.kept = snapshot->dependencies;
    scope.kept_layer = snapshot->layer;
    scope.snapshot = snapshot->id.str();
  }
  auto plan = plan_session(deps_.node, name, request, options_.engine, options_.min_grade, scope);
  if (plan) TRY_OK(net::check_reach(plan->spec.net, options_.ceiling));
  // By its id: a different template may have the name by now.
  const store::TemplateRecord* own = deps_.templates.find(project, name);
  const bool is_another =
      snapshot && (plan ? plan->template_id != snapshot->template_id
                        : own != nullptr && own->definition.id != snapshot->template_id);
  const bool is_gone = !plan && snapshot && plan.error().code() == Errc::kNotFound;
  if (!is_another && !is_gone) return plan;
  return fail(Errc::kConflict,
              "snapshot: it was made from the template \"" + name + "\", which no longer exists");
}

Result<std::optional<SessionCreator::NamedImage>> SessionCreator::image_of(
    const CreateRequest& request, const std::string& project) const {
  TRY(const auto snapshot, find_snapshot(request, project));
  if (snapshot && !snapshot->image.empty())
    return NamedImage{snapshot->image, snapshot->image_name};
  const store::TemplateRecord* own =
      snapshot ? nullptr : deps_.templates.find(project, request.template_name);
  if (own == nullptr || own->definition.image.empty()) return std::nullopt;
  return NamedImage{own->definition.image, own->image_name};
}

Result<SessionCreator::Requirements> SessionCreator::requirements_of(
    const CreateRequest& request, const std::string& project) const {
  TRY(const auto snapshot, find_snapshot(request, project));
  TRY(SessionPlan plan, plan_of(request, project, snapshot));
  Requirements needed{.bytes = plan.spec.limits.memory_bytes + plan.spec.limits.disk_bytes,
                      .packages = std::move(plan.set)};
  return needed;
}

Task<CreatedSession> SessionCreator::create(CreateRequest request, SessionOwner owner,
                                            store::Admission admission,
                                            std::shared_ptr<node::CancelFlag> cancel) {
  if (request.agent_id.empty()) {
    co_return co_await make(std::move(request), std::move(owner), std::move(admission), cancel);
  }
  AgentKey key(owner.project, request.agent_id);
  AgentLock lock(*this, std::move(key));
  CO_TRY_OK(co_await lock.lock(cancel));
  CO_TRY(const EntryPtr known, co_await find_agent(owner.project, request.agent_id));
  if (known) {
    CO_TRY_OK(check_same(known->record, request, deps_.templates, options_.min_grade));
    CreatedSession created{.record = known->record, .is_new = false};
    co_return created;
  }
  co_return co_await make(std::move(request), std::move(owner), std::move(admission), cancel);
}

// Null: the agent has no sandbox, or it has just ended.
Task<EntryPtr> SessionCreator::find_agent(std::string project, std::string agent_id) {
  EntryPtr entry = deps_.registry.agent_entry(project, agent_id);
  if (!entry) co_return nullptr;
  if (entry->record.state == SessionState::kPaused) {
    auto resumed = co_await deps_.lifecycle.resume(project, entry->record.id.str());
    if (!resumed && resumed.error().code() != Errc::kConflict) {
      co_return fail(std::move(resumed.error()));
    }
  }
  co_return entry->record.state == SessionState::kRunning ? entry : nullptr;
}

// The memory limits of all sessions may exceed the host's memory, since most sessions are idle. But
// the host must have enough free memory for all that a new session may use.
Result<> SessionCreator::check_room(const std::string& project, std::uint64_t needed_bytes) {
  const std::uint64_t alive = deps_.registry.alive();
  if (alive >= options_.max_sessions) {
    return fail(Errc::kResourceExhausted,
                "the limit of " + std::to_string(options_.max_sessions) +
                    " sandboxes is reached (sessions.max); end one, or try again later");
  }
  const std::uint64_t share =
      std::max<std::uint64_t>(1, options_.max_sessions * options_.project_share_percent / 100);
  if (deps_.registry.alive_of(project) >= share) {
    return fail(Errc::kResourceExhausted, "your project has its share of this host, " +
                                              std::to_string(share) +
                                              " sandboxes (pools.project_share); end one first");
  }
  const std::optional<std::uint64_t> left = options_.available_memory();
  if (left && *left < needed_bytes) {
    return fail(Errc::kResourceExhausted, "the host has " + megabytes(*left) +
                                              " of memory left, and this sandbox may need " +
                                              megabytes(needed_bytes));
  }
  return {};
}

Task<std::shared_ptr<node::Session>> SessionCreator::make_sandbox(
    node::SessionSpec& spec, bool net_is_default, std::shared_ptr<node::CancelFlag> cancel) {
  SessionRegistry::Counted pending(deps_.registry, deps_.registry.pending());
  SessionRegistry::Counted pending_here(deps_.registry, deps_.registry.pending_of(spec.project));
  node::SessionSpec first = spec;
  Result<std::shared_ptr<node::Session>> made =
      co_await deps_.service.create_session(std::move(first), cancel);
  if (!made && made.error().code() == Errc::kUnsupported && net_is_default && !spec.net.is_none()) {
    // The caller did not ask for the network explicitly, and this host cannot give one.
    spec.net = {};
    node::SessionSpec without = spec;
    made = co_await deps_.service.create_session(std::move(without), cancel);
  }
  co_return made;
}

Task<CreatedSession> SessionCreator::make(CreateRequest request, SessionOwner owner,
                                          store::Admission admission,
                                          std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY(const std::unique_ptr<NameClaim> claim, claim_name(owner.project, request.name));
  CO_TRY(const std::uint64_t ttl_s, deps_.lifecycle.ttl_of(request.ttl_s));
  CO_TRY(std::optional<store::SnapshotRecord> snapshot, find_snapshot(request, owner.project));
  CO_TRY(SessionPlan plan, plan_of(request, owner.project, snapshot));
  if (plan.spec.template_name.empty()) {
    // The agent's sandbox existed a moment ago, so no packages were prepared for a new one.
    co_return fail(Errc::kUnavailable, "the sandbox of this agent_id has just ended; try again");
  }
  const std::uint64_t needed = plan.spec.limits.memory_bytes + plan.spec.limits.disk_bytes;
  if (Result<> room = check_room(owner.project, needed); !room) {
    deps_.registry.count_refused();
    co_return fail(std::move(room.error()));
  }
  node::SessionSpec& spec = plan.spec;
  spec.owner = owner.project;
  spec.project = owner.project;
  Result<std::shared_ptr<node::Session>> made =
      co_await make_sandbox(spec, request.net_is_default, cancel);
  if (!made) {
    deps_.registry.count_refused();
    co_return fail(std::move(made.error()));
  }
  const std::shared_ptr<node::Session> session = *made;
  store::SessionRecord record{
      .id = session->id(),
      .project = owner.project,
      .key_id = owner.key.str(),
      .template_name = plan.template_name,
      .template_id = plan.template_id,
      .snapshot = request.snapshot,
      .state = SessionState::kStarting,
      .agent_id = request.agent_id,
      .name = request.name,
      .metadata = std::move(request.metadata),
      .env = joined_environment(std::move(plan.template_env), request.env),
      .on_timeout = request.on_timeout,
      .ttl_s = ttl_s,
      .created_ms = wall_clock_ms(),
      .engine = spec.engine,
      .walls = session->walls(),
      .limits = spec.limits,
      .profile = plan.profile_hash,
      .net = net::canonical_text(spec.net),
      .dependencies = plan.set ? plan.set->dependencies : glovebox::Dependencies{},
      .layer = plan.set ? request.set_layer : std::string(),
      .host_mask = std::move(request.host_mask)};
  if (request.private_ports) record.port_token = random_label(40);
  const auto entry = std::make_shared<SessionEntry>(deps_.io, std::move(record));
  entry->memory = deps_.usage.hold(owner.key, needed);
  admission.release();
  deps_.registry.add(entry);
  Result<> up = co_await bring_up(entry, session, std::move(snapshot), cancel);
  if (!up) {
    const EndCause cause = cancel->cancelled() ? EndCause::kCancelled : EndCause::kFailed;
    // If the sandbox ended by itself, the reason of that end is more precise.
    const std::string why =
        is_over(entry->record.state) ? entry->record.reason : up.error().message();
    co_await deps_.lifecycle.end_and_destroy(entry, SessionState::kError, cause, why);
    co_return fail(Error(up.error().code(), why, up.error().sys_errno()));
  }
  deps_.registry.count_created();
  CreatedSession created{.record = entry->record, .is_new = true};
  co_return created;
}

Task<> SessionCreator::bring_up(EntryPtr entry, std::shared_ptr<node::Session> session,
                                std::optional<store::SnapshotRecord> snapshot,
                                std::shared_ptr<node::CancelFlag> cancel) {
  SessionRegistry& registry = deps_.registry;
  store::SessionRecord& record = entry->record;
  registry.set_deadline(entry, ttl_time(record.ttl_s));
  store::SessionRecord first = record;
  if (!snapshot) first.state = SessionState::kRunning;  // one write instead of two
  const store::Ask<std::int64_t> ask = [&](store::Callback<std::int64_t> done) {
    deps_.store.add_session(first, std::move(done));
  };
  CO_TRY(record.seq, co_await store::store_call(ask));
  entry->is_stored = true;
  registry.note(record.id, "created",
                "from " + (snapshot ? snapshot->id.str() : record.template_name));
  registry.publish(entry, "created");
  if (snapshot) {
    Result<> filled = co_await deps_.snapshots.fill(session, *snapshot, cancel);
    if (!filled) co_return fail(std::move(filled.error()).context("snapshot"));
  }
  if (cancel->cancelled()) co_return fail(Errc::kUnavailable, "the request was cancelled");
  // The sandbox may have ended before it had an entry to record its end in.
  if (!session->alive()) co_return fail(Errc::kUnavailable, "the sandbox ended after its start");
  CO_TRY_OK(registry.set_state(entry, SessionState::kRunning, ""));
  if (snapshot) {
    registry.set_deadline(entry, ttl_time(record.ttl_s));
    CO_TRY_OK(co_await registry.save(entry));
  }
  registry.publish(entry, "running");
  co_return Result<>();
}

}  // namespace glovebox::sessions
