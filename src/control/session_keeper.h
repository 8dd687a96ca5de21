// The server's sessions: see sessions.h for what other routes use of it. Living ones are in memory,
// loaded at the start; the store has them all.
//
// Who wins: what the node says is there is true, and what the store says should be there is what
// is wanted. Every change of a state happens in memory first, on this one thread, checked against
// the table in model/session.cc, and is stored before it is answered; what could not be stored is
// tried again. An end is stored before the sandbox is destroyed, so a server that dies in between
// leaves a sandbox that no record wants, and its successor destroys it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/task.h"
#include "control/event_hub.h"
#include "control/session_entry.h"
#include "control/session_figures.h"
#include "control/session_plan.h"
#include "control/session_request.h"
#include "control/sessions.h"
#include "control/snapshot_shelf.h"
#include "node/network_service.h"
#include "node/run_service.h"
#include "store/key_usage.h"
#include "store/store.h"

namespace glovebox::control {

struct KeeperOptions {
  std::uint64_t max_sessions = 2048;
  std::uint64_t default_ttl_s = 3600;
  std::uint64_t max_ttl_s = 86'400;
  std::uint64_t max_paused = 32;  // of one project
  std::chrono::milliseconds paused_max{86'400'000};
  EngineKind engine = EngineKind::kJail;
  std::optional<Grade> min_grade{};  // the administrator's floor
  ShelfOptions shelf{};
  const TemplateBook* templates = nullptr;   // what projects made for themselves
  node::NetworkService* networks = nullptr;  // null: no sandbox can have one
  net::NetCeiling ceiling{};                 // what the administrator lets them reach
  std::chrono::milliseconds tick{250};
  std::chrono::milliseconds reconcile_every{3'000};
  std::chrono::milliseconds sample_every{10'000};
  // How long a sandbox may be there without a record: one that is just being made is.
  std::chrono::milliseconds orphan_age{2'000};
  std::function<std::optional<std::uint64_t>()> available_memory = &control::available_memory;
};

// A session with this key in its metadata, "true", is resumed by whoever comes to one of its ports.
inline constexpr std::string_view kAutoResume = "glovebox.auto_resume";

// What cannot be done to a sandbox in that state.
tl::unexpected<Error> wrong_state(SessionState state);

class SessionKeeper final : public Sessions {
 public:
  SessionKeeper(asio::io_context& io, node::SessionService& service, node::RunService& node,
                store::Store& store, KeeperOptions options);
  ~SessionKeeper() override;

  // Loads what there was, and begins to look after it. Once, before anything else; what is given
  // outlives this. Blocks on the store.
  Result<> begin(EventHub& events, store::KeyUsage& usage);
  // No more ticks: the server stops. Sessions live on.
  void stop();

  // Sessions.
  Result<std::shared_ptr<node::Session>> use(const std::string& project,
                                             std::string_view id) override;
  std::vector<std::string> environment(const SandboxId& id) const override;
  void note(const SandboxId& id, std::string_view kind, std::string message,
            std::uint64_t process) override;
  Door door(std::string_view id) override;

  struct Owner {
    std::string project;
    store::KeyId key;
  };
  struct Created {
    store::SessionRecord record;
    bool is_new = true;  // false: it was there for this agent_id
  };
  // Errors as SessionService::create_session's. `admission` is given back when it is made; from
  // then on its memory is counted as long as it lives. Cancelled: it is destroyed again.
  Task<Created> create(CreateRequest request, Owner owner, store::Admission admission,
                       std::shared_ptr<node::CancelFlag> cancel);
  // What a creation will promise of memory and disk.
  struct Promise {
    std::uint64_t bytes = 0;
    std::optional<SetWish> set;  // packages that have to be prepared before it can be made
  };
  Result<Promise> promise_of(const CreateRequest& request, const std::string& project) const;

  // Of a project ("*": of any). kNotFound; kConflict in a state that does not allow it.
  Task<store::SessionRecord> get(std::string project, std::string id);
  // The living one of an agent_id, without touching it; nothing: there is none.
  std::optional<store::SessionRecord> of_agent(const std::string& project,
                                               const std::string& agent_id) const;
  Task<> destroy(std::string project, std::string id);
  Task<store::SessionRecord> pause(std::string project, std::string id);
  Task<store::SessionRecord> resume(std::string project, std::string id);
  // Running, and for `ttl_s` from now at least: one that is paused, or is just being paused, is
  // resumed; the time of one that runs is never shortened.
  struct Reached {
    store::SessionRecord record;
    bool was_resumed = false;
  };
  Task<Reached> reach(std::string project, std::string id, std::uint64_t ttl_s);
  // A paused one that says so in its metadata (kAutoResume) goes on because somebody comes.
  asio::awaitable<void> wake(std::string id);
  Task<store::SessionRecord> keep_alive(std::string project, std::string id,
                                        std::optional<std::uint64_t> ttl_s);
  Task<store::SessionRecord> change(std::string project, std::string id, ChangeRequest request);
  Task<store::SnapshotRecord> snapshot(std::string project, std::string id, std::string name,
                                       std::shared_ptr<node::CancelFlag> cancel);

  struct Measured {
    Limits limits;
    SessionSample now;
    node::SessionUsage usage;
    std::deque<SessionSample> history;
  };
  Task<Measured> measure(std::string project, std::string id);
  struct Reach {
    net::NetPolicy policy;
    wire::NetworkFigures figures;
  };
  // What a sandbox may reach, and what it did.
  Task<Reach> network(std::string project, std::string id);
  // The newest `limit` lines, oldest first.
  Task<std::vector<SessionLine>> lines(std::string project, std::string id, std::size_t limit);

  SnapshotShelf& shelf() { return shelf_; }
  SessionFigures figures() const;
  std::uint64_t running_of(const std::string& project) const;

  // The node is compared with the records. Done by itself every few seconds.
  Task<> reconcile();

 private:
  using Entry = SessionEntry;
  using EntryPtr = std::shared_ptr<Entry>;
  using Steady = std::chrono::steady_clock;

  // Each takes something until it goes away: the turn with an entry, a place among the creations,
  // one among the paused. They may go after the keeper, with a coroutine that was cut off.
  struct Turn;
  struct AgentTurn;
  struct Place;

  static constexpr std::size_t kEndedKept = 512;

  // session_keeper.cc: finding, states, storing
  EntryPtr find(const std::string& project, std::string_view id) const;
  Task<EntryPtr> living(std::string project, std::string id);
  void add(const EntryPtr& entry);
  void count(const EntryPtr& entry, int how);
  Result<> set_state(const EntryPtr& entry, SessionState to, std::string reason);
  void set_deadline(const EntryPtr& entry, std::optional<std::chrono::milliseconds> from_now);
  void end(const EntryPtr& entry, SessionState to, EndCause cause, std::string reason);
  Task<> save(EntryPtr entry);
  void tell(const EntryPtr& entry, std::string_view what);
  std::uint64_t paused_of(const std::string& project) const;
  Result<std::uint64_t> ttl_of(std::optional<std::uint64_t> asked) const;

  // session_changes.cc: what clients ask for
  Task<EntryPtr> find_agent(std::string project, std::string agent_id);
  Task<Created> make(CreateRequest request, Owner owner, store::Admission admission,
                     std::shared_ptr<node::CancelFlag> cancel);
  Task<> bring_up(EntryPtr entry, std::shared_ptr<node::Session> session,
                  std::optional<store::SnapshotRecord> snapshot,
                  std::shared_ptr<node::CancelFlag> cancel);
  Result<SessionPlan> plan_of(const CreateRequest& request, const std::string& project,
                              const std::optional<store::SnapshotRecord>& snapshot) const;
  Result<> check_there(const EntryPtr& entry) const;
  Task<> set_network(EntryPtr entry, net::NetPolicy policy);
  Task<> pause_entry(EntryPtr entry, std::string reason);
  Task<> resume_entry(EntryPtr entry);
  Task<> end_and_destroy(EntryPtr entry, SessionState to, EndCause cause, std::string reason);

  // session_upkeep.cc: what happens by itself
  asio::awaitable<void> tick_loop();
  asio::awaitable<void> sample_loop();
  void reap();
  Task<> expire(EntryPtr entry);
  Task<> settle(EntryPtr entry);
  void restore_networks();
  void save_the_unsaved();
  void on_ended(const node::SessionEnded& ended);

  asio::io_context& io_;
  node::SessionService& service_;
  node::RunService& node_;
  store::Store& store_;
  const KeeperOptions options_;
  SnapshotShelf shelf_;
  EventHub* events_ = nullptr;
  store::KeyUsage* usage_ = nullptr;

  std::map<std::string, EntryPtr, std::less<>> entries_;  // living, and the last that ended
  std::deque<std::string> ended_;                         // those, oldest first
  std::map<std::pair<std::string, std::string>, EntryPtr> agents_;  // by project and agent_id
  // Creations for one agent_id, one after the other.
  std::map<std::pair<std::string, std::string>, std::weak_ptr<Turns>> agent_turns_;
  std::set<std::pair<Steady::time_point, std::string>> deadlines_;
  std::map<std::string, std::uint64_t> paused_;      // by project
  std::map<std::string, std::uint64_t> pausing_;     // by project: to be paused in a moment
  std::map<SandboxId, Steady::time_point> orphans_;  // seen without a record, since when
  SessionFigures figures_;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // ends with this
  bool is_settled_ = false;  // what the server before us left has been looked at
  bool stopping_ = false;
  asio::steady_timer tick_timer_;
  asio::steady_timer sample_timer_;
};

}  // namespace glovebox::control
