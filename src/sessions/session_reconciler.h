// What happens to sessions without a request: they expire, the node loses one, the store falls
// behind. Compares the node with the records every few seconds, at the start, and when a launcher
// has reported its sandboxes: a sandbox without a record is destroyed, a record without a sandbox
// ends.
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

  // Listens to the node and looks every tick, until stop(). Once.
  void start();
  // The server stops; sessions live on.
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
  std::map<SandboxId, Steady::time_point> orphans_;  // seen without a record, since when
  bool is_reconciled_ = false;                       // once since the start
  bool is_stopping_ = false;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // expires with this
};

}  // namespace glovebox::sessions
