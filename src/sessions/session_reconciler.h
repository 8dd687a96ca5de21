// Maintains sessions without a request: ends expired sessions and those that the node has lost, and
// stores changes that could not be stored before. Compares the node with the records every few
// seconds, at the start, and when a launcher has reported its sandboxes: destroys sandboxes without
// a record, and ends sessions without a sandbox.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>

#include "base/task.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_networks.h"
#include "sessions/session_options.h"
#include "sessions/session_registry.h"

namespace glovebox::sessions {

class SessionReconciler {
 public:
  // All are borrowed and outlive this.
  SessionReconciler(asio::io_context& io, SessionRegistry& registry, SessionLifecycle& lifecycle,
                    SessionNetworks& networks, node::SessionService& service,
                    const SessionOptions& options)
      : io_(io),
        registry_(registry),
        lifecycle_(lifecycle),
        networks_(networks),
        service_(service),
        options_(options),
        timer_(io) {}
  ~SessionReconciler() { stop(); }
  SessionReconciler(const SessionReconciler&) = delete;
  SessionReconciler& operator=(const SessionReconciler&) = delete;

  // Listens to the node and compares on every tick, until stop(). Call it once.
  void start();
  // Called when the server stops; its sessions keep running.
  void stop();
  Task<> reconcile();

 private:
  using Steady = SessionRegistry::Steady;

  asio::awaitable<void> tick_loop();
  void expire_due();
  Task<> expire(EntryPtr entry);
  void save_unsaved();
  void on_ended(const node::SessionEnded& ended);
  std::vector<SandboxId> find_orphans(const std::vector<SandboxId>& on_node);
  Task<> restore_state(EntryPtr entry);

  asio::io_context& io_;
  SessionRegistry& registry_;
  SessionLifecycle& lifecycle_;
  SessionNetworks& networks_;
  node::SessionService& service_;
  const SessionOptions& options_;
  asio::steady_timer timer_;
  std::map<SandboxId, Steady::time_point> orphans_;  // seen without a record since that time
  bool is_reconciled_ = false;                       // at least once since the start
  bool is_stopping_ = false;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // expires with this
};

}  // namespace glovebox::sessions
