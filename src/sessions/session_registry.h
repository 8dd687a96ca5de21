// The sessions this server knows: their records in memory, their states, and their stored records.
// Living sessions are in memory, loaded at the start; the store has all sessions.
//
// The node decides which sandboxes exist, and the store decides which ones should exist. Every
// state change happens in memory first, checked against the table in model/session.cc, and is
// stored before the request is answered. The reconciler retries a change that could not be stored.
// SessionCreator and SessionLifecycle create, change and end sessions; they share this registry.
//
// Single-threaded: everything runs on the server's io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/task.h"
#include "events/event_hub.h"
#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "sessions/session_entry.h"
#include "sessions/session_figures.h"
#include "sessions/sessions.h"
#include "store/store.h"

namespace glovebox::sessions {

class SessionRegistry final : public Sessions {
 public:
  using Steady = std::chrono::steady_clock;
  using Entries = std::map<std::string, EntryPtr, std::less<>>;

  // All are borrowed and outlive this.
  SessionRegistry(asio::io_context& io, node::SessionService& service, const node::RunService& node,
                  store::Store& store, events::EventHub& events)
      : io_(io), service_(service), node_(node), store_(store), events_(events) {}

  // Loads the living sessions and counts their memory for their keys. Call it once, before anything
  // else. Blocks on the store.
  Result<> load(store::KeyUsage& usage);

  // Sessions.
  Result<std::shared_ptr<node::Session>> use(const std::string& project,
                                             std::string_view id) override;
  std::vector<std::string> environment(const SandboxId& id) const override;
  void note(const SandboxId& id, std::string_view kind, std::string message,
            std::uint64_t process = 0) override;
  PortAccess port_access(std::string_view id) override;

  // A session of a project ("*": of any project). kNotFound.
  Task<store::SessionRecord> get(std::string project, std::string id);
  // The living session of an agent_id, unchanged; nothing if the agent has none.
  std::optional<store::SessionRecord> of_agent(const std::string& project,
                                               const std::string& agent_id) const;
  EntryPtr agent_entry(const std::string& project, const std::string& agent_id) const;
  // The living session of a name; null if there is none.
  EntryPtr named_entry(const std::string& project, const std::string& name) const;
  // The newest `limit` log lines, oldest first.
  Task<std::vector<SessionLine>> lines(std::string project, std::string id, std::size_t limit);
  const SessionFigures& figures() const { return figures_; }
  std::uint64_t running_of(const std::string& project) const;
  std::uint64_t paused_of(const std::string& project) const;
  // All that count for the project's share: those that are still being made, too.
  std::uint64_t alive_of(const std::string& project) const;
  std::uint64_t alive() const {
    return figures_.pending + figures_.starting + figures_.running + figures_.paused;
  }

  // For the classes that change sessions. Null: no session of that id and project is in memory.
  EntryPtr find(const std::string& project, std::string_view id) const;
  // kNotFound; kConflict: it has ended.
  Task<EntryPtr> living(std::string project, std::string id);
  const Entries& entries() const { return entries_; }
  // kUnavailable: the node does not have it, or the launcher has not reported its sandboxes yet.
  Result<> check_on_node(const SessionEntry& entry) const;

  void add(const EntryPtr& entry);
  Result<> set_state(const EntryPtr& entry, SessionState to, std::string reason);
  // The time at which it expires; nothing: never.
  void set_deadline(const EntryPtr& entry, std::optional<std::chrono::milliseconds> from_now);
  // Returns the sessions whose deadline has passed, and clears their deadlines.
  std::vector<EntryPtr> take_expired(Steady::time_point now);
  void end(const EntryPtr& entry, SessionState to, EndCause cause, std::string reason);
  Task<> save(EntryPtr entry);
  // Writes one line to the server's log and publishes one event.
  void publish(const EntryPtr& entry, std::string_view what);

  void count_created() { ++figures_.created; }
  void count_refused() { ++figures_.refused; }
  // Increments a counter of this registry for as long as the object lives. It may outlive the
  // registry, held by a coroutine that was abandoned.
  class Counted {
   public:
    Counted(const SessionRegistry& registry, std::uint64_t& counter)
        : life_(registry.life_), counter_(&counter) {
      ++counter;
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { release(); }
    void release() {
      if (counter_ != nullptr && !life_.expired()) --*counter_;
      counter_ = nullptr;
    }

   private:
    std::weak_ptr<char> life_;
    std::uint64_t* counter_;
  };
  std::uint64_t& pending() { return figures_.pending; }
  std::uint64_t& pending_of(const std::string& project) { return pending_[project]; }
  std::uint64_t& pausing_of(const std::string& project) { return pausing_[project]; }
  // Expires with this registry.
  std::weak_ptr<char> life() const { return life_; }

 private:
  static constexpr std::size_t kMaxEnded = 512;

  void count(const SessionEntry& entry, int how);
  // Of the project that has most of them: one project's volume never costs another its logs.
  void forget_oldest_ended();

  asio::io_context& io_;
  node::SessionService& service_;
  const node::RunService& node_;
  store::Store& store_;
  events::EventHub& events_;

  Entries entries_;                                       // living, and the last ended
  std::map<std::string, std::deque<std::string>> ended_;  // ids by project, oldest first
  std::size_t ended_count_ = 0;
  std::map<std::pair<std::string, std::string>, EntryPtr> agents_;  // by project and agent_id
  std::set<std::pair<Steady::time_point, std::string>> deadlines_;
  std::map<std::string, std::uint64_t> paused_;   // by project
  std::map<std::string, std::uint64_t> pausing_;  // by project: pause requests under way
  std::map<std::string, std::uint64_t> pending_;  // by project: creations without an entry yet
  SessionFigures figures_;
  std::shared_ptr<char> life_ = std::make_shared<char>();
};

// "the sandbox is paused"
Error wrong_state(SessionState state);

}  // namespace glovebox::sessions
