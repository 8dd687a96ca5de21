// One sandbox, as the launcher holds it: its process, its cgroup, its uid slice, its deadlines.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/layers/layer_store.h"
#include "launcher/sandbox/process_maker.h"
#include "model/limits.h"
#include "model/outcome.h"
#include "model/wall.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

using Clock = std::chrono::steady_clock;

// A full disk must be ENOSPC and never an OOM kill, and tmpfs pages are memory: both count.
sys::CgroupLimits bounds_of(const Limits& limits);

class Sandbox {
 public:
  Sandbox(SandboxId id, Limits limits, WallSet walls, sys::Cgroup cgroup, UniqueFd init,
          std::optional<std::uint32_t> slice, std::optional<ProcessStart> process = {});

  // Of a jail that is not taken yet.
  struct Waiting {
    UniqueFd setup;  // to its agent
    UniqueFd link;   // the client's end of the agent's socket; none: it is nobody's
    UniqueFd upper;  // its writable filesystem
  };
  void wait_with(Waiting waiting) { waiting_ = std::move(waiting); }
  bool is_waiting() const { return waiting_.has_value(); }
  int setup_fd() const { return waiting_ ? waiting_->setup.get() : -1; }
  void give_link(UniqueFd link) { waiting_->link = std::move(link); }
  // Becomes the client's, with its limits: time counts from now on.
  Result<> take(const Limits& limits, bool network_up = false);

  // Of one that outlives its client.
  struct Session {
    UniqueFd setup;       // to its agent, which asks here for runtimes to be joined
    UniqueFd server_end;  // of its socket, for the client's successor
    UniqueFd upper;       // its writable filesystem
    std::string template_name;
    std::uint32_t generation = 0;  // of the template
    // The zygote that made its user namespace and so may join it; zero: none can.
    std::uint32_t zygote_uid = 0;
    pid_t init_pid = 0;
    bool frozen = false;
  };
  void become_session(Session session) { session_ = std::move(session); }
  Session* session() { return session_ ? &*session_ : nullptr; }
  const Session* session() const { return session_ ? &*session_ : nullptr; }

  // Of a sandbox that a zygote has been shown and whose runtime is not ready yet.
  struct Joining {
    std::string template_name;
    std::uint32_t zygote_uid = 0;
    Clock::time_point deadline;
  };
  std::optional<Joining> joining;

  // The sockets at which its network ends, for as long as it lives; lent to whoever relays.
  struct Network {
    UniqueFd connections;
    UniqueFd names;
    bool is_up = false;
  };
  void keep_network(Network network) { network_.emplace(std::move(network)); }
  bool has_network() const { return network_.has_value(); }
  // What to lend: the sockets and its first process. A session's network is brought up if need be.
  Result<std::vector<int>> lend_network();

  // Nobody else's as long as there is anything of this sandbox.
  void hold(std::shared_ptr<const void> held) { held_ = std::move(held); }
  // Until it is dead.
  void hold_layers(std::vector<LayerHeld> layers) { layers_ = std::move(layers); }

  const SandboxId& id() const { return id_; }
  const Limits& limits() const { return limits_; }
  const WallSet& walls() const { return walls_; }
  std::optional<std::uint32_t> slice() const { return slice_; }
  int pidfd() const { return init_.get(); }  // readable when its first process, so all, are dead

  // When to look at it next, and whether a limit has been reached by then. No clock ends a session.
  Clock::time_point next_check() const;
  void check(Clock::time_point now);

  void kill(EndReason reason);
  bool is_ending() const { return end_reason_.has_value(); }
  EndReason end_reason() const { return end_reason_.value_or(EndReason::kExited); }
  // After its death: what it used. Its cgroups are gone with this call or with later ones of
  // clean_up(): where memory is counted apart that takes the kernel a while.
  Usage finish();
  bool clean_up();
  // Nobody is in it any more: its uids may be given to others.
  bool is_empty() const { return empty_; }
  bool is_clean() const { return cgroup_.is_removed(); }
  // What it has used so far.
  Usage usage() const;
  const sys::Cgroup& cgroup() const { return cgroup_; }

 private:
  std::chrono::microseconds cpu_used() const;
  Clock::time_point soonest_end(Clock::time_point now, std::chrono::microseconds used) const;

  SandboxId id_;
  Limits limits_;
  WallSet walls_;
  std::optional<std::uint32_t> slice_;
  std::optional<ProcessStart> process_;  // of the process engine: what to clean up
  std::optional<Waiting> waiting_;
  std::optional<Session> session_;
  std::optional<Network> network_;
  Clock::time_point started_;
  Clock::time_point look_at_;  // no limit can be reached before
  std::optional<EndReason> end_reason_;
  bool empty_ = false;
  std::shared_ptr<const void> held_;
  std::vector<LayerHeld> layers_;
  std::chrono::microseconds cpu_before_{0};  // the take
  // Destroyed bottom to top: the process dies first, the cgroup can go only when it is empty.
  sys::Cgroup cgroup_;
  UniqueFd init_;
};

}  // namespace glovebox::launcher
