// The launcher's loop: one thread, one poll(2). Waits for clients, sandboxes, jails that are being
// made, zygotes, disk tasks, signals and deadlines, and calls the classes that handle them.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/layers/host_package_watch.h"
#include "launcher/sandbox/sandbox_maker.h"
#include "launcher/server/client_connections.h"
#include "launcher/server/layer_requests.h"
#include "launcher/server/request_dispatcher.h"
#include "launcher/server/sandbox_requests.h"
#include "launcher/server/sandbox_table.h"
#include "launcher/server/template_requests.h"

namespace glovebox::launcher {

class EventLoop {
 public:
  // What it calls; all outlive it.
  struct Parts {
    SandboxMaker& maker;
    ClientConnections& clients;
    SandboxTable& sandboxes;
    SandboxRequests& sandbox_requests;
    TemplateRequests& template_requests;
    LayerRequests& layer_requests;
    RequestDispatcher& dispatcher;
    std::function<void()> when_idle;  // called once: when it first has to wait, or at the end
  };
  explicit EventLoop(Parts parts) : parts_(std::move(parts)) {}

  // SIGTERM, SIGINT and SIGHUP wait from now on, until run() handles them.
  static void block_signals();
  // Blocks these signals, and runs until one of the first two arrives, the owner has
  // exited, or, of a private launcher, its client has gone. Every sandbox is gone when it returns.
  // SIGHUP makes a shared launcher read its templates again, and stops a private one.
  Result<> run();

 private:
  // Where the groups begin in the array for poll(2).
  struct PollSet {
    std::vector<pollfd> events;
    std::size_t sandboxes = 0;  // one past the clients
    std::size_t jails = 0;      // and all after them
  };
  void stop();
  bool is_finished() const;
  void finish();
  PollSet poll_set() const;
  Result<> wait(PollSet& set);
  bool has_idle_work() const;
  void do_idle_work();
  int timeout_ms() const;
  int spare_timeout_ms() const;
  bool wants_spare() const;
  void handle_sandboxes(const PollSet& set);
  void handle_periodic(Clock::time_point now);
  void handle_signal(const PollSet& set);
  void handle_clients(const PollSet& set);
  void check_host_packages();

  Parts parts_;
  std::optional<HostPackageWatch> packages_;  // not of a private launcher
  UniqueFd signals_;
  bool stopping_ = false;
  Clock::time_point stop_deadline_ = Clock::time_point::max();
  Clock::time_point next_periodic_ = Clock::now();
  bool may_create_ = false;  // in this round
};

}  // namespace glovebox::launcher
