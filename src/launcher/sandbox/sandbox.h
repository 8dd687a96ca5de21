// One sandbox of the launcher: owns its first process (by pidfd), its cgroup, its uid slice and its
// deadlines. Killed with kill(); after its death finish() returns what it used, and clean_up()
// removes what the kernel needed time for.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

// The memory bound includes the disk limit: tmpfs pages are memory, and a full disk must give
// ENOSPC and never an OOM kill.
sys::CgroupLimits cgroup_limits(const Limits& limits);

class Sandbox {
 public:
  Sandbox(SandboxId id, Limits limits, WallSet walls, sys::Cgroup cgroup, UniqueFd init,
          std::optional<std::uint32_t> slice, std::optional<ProcessStart> process = {});

  // A jail that is not taken yet.
  struct Waiting {
    UniqueFd setup;  // to its agent
    UniqueFd link;   // for the agent: its end of the socket to the client; none: no client yet
    UniqueFd upper;  // its writable filesystem
  };
  void wait_with(Waiting waiting) { waiting_ = std::move(waiting); }
  bool is_waiting() const { return waiting_.has_value() || between_calls_; }
  int setup_fd() const { return waiting_ ? waiting_->setup.get() : -1; }
  void give_link(UniqueFd link) { waiting_->link = std::move(link); }
  // Hands it to the client, with its limits: time counts from now on.
  Result<> take(const Limits& limits, bool network_up = false,
                std::uint32_t cpu_weight = sys::kFullCpuWeight);

  // A sandbox that outlives its client.
  struct Session {
    UniqueFd setup;       // to its agent, which asks here for runtimes
    UniqueFd server_end;  // of its socket, for the next server
    UniqueFd upper;       // its writable filesystem
    std::string template_name;
    std::uint32_t generation = 0;  // of the template
    // The zygote whose uid owns its user namespace and so may join it; zero: none.
    std::uint32_t zygote_uid = 0;
    pid_t init_pid = 0;
    bool frozen = false;
  };
  void become_session(Session session) { session_ = std::move(session); }
  Session* session() { return session_ ? &*session_ : nullptr; }
  const Session* session() const { return session_ ? &*session_ : nullptr; }

  // A zygote was told to join, and the runtime is not ready yet. Within this time a runtime of the
  // template arrives somewhere, or its zygote is stuck.
  static constexpr std::chrono::seconds kJoinTimeout{3};
  static constexpr std::chrono::seconds kLongestJoin{20};
  struct Joining {
    std::string template_name;
    std::uint32_t zygote_uid = 0;
    Clock::time_point deadline;       // later while other runtimes of the template arrive
    Clock::time_point last_deadline;  // whatever the others do
    // A reusable sandbox whose agent still cleans up: the zygote was not told yet.
    bool is_cleaning = false;
  };
  std::optional<Joining> joining;

  // A sandbox that serves one call after the other: what its next runtime needs to join it, kept
  // since it was sealed, when no guest had been in it.
  struct Reuse {
    std::string template_name;
    std::uint32_t generation = 0;  // of the template
    std::uint32_t zygote_uid = 0;  // owns its user namespace, so no other zygote may join it
    std::vector<UniqueFd> namespaces;
    std::vector<UniqueFd> join_files;  // of its cgroups
    bool landlock = false;
    bool hurry = false;
    UniqueFd setup{};  // to its agent, while a call is in it
  };
  void become_reusable(Reuse reuse) { reuse_.emplace(std::move(reuse)); }
  Reuse* reuse() { return reuse_ ? &*reuse_ : nullptr; }
  // The call in it is over: tells the agent to clean up, and makes it wait for the next one.
  Result<> begin_recycling(UniqueFd link, std::span<const UniqueFd> scratch);
  // The call in it is over, and its runtime stays: it waits for the next one as it is. If it works
  // meanwhile, it is ended.
  void begin_waiting_for_a_call();

  // The sockets of its network, which a gateway relays.
  struct Network {
    UniqueFd connections;
    UniqueFd dns;
    bool is_up = false;
  };
  void set_network(Network network) { network_.emplace(std::move(network)); }
  bool has_network() const { return network_.has_value(); }
  // What a gateway needs: the two sockets and the pidfd of the first process, all borrowed. Brings
  // a session's network up first.
  Result<std::vector<int>> network_descriptors();

  // The uid is not reused while anything of this sandbox exists.
  void hold_uid(std::shared_ptr<const void> lease) { uid_lease_ = std::move(lease); }
  // The layers are not removed while the sandbox lives.
  void hold_layers(std::vector<LayerRef> layers) { layers_ = std::move(layers); }

  const SandboxId& id() const { return id_; }
  const Limits& limits() const { return limits_; }
  const WallSet& walls() const { return walls_; }
  std::optional<std::uint32_t> slice() const { return slice_; }
  int pidfd() const { return init_.get(); }  // readable when its first process, so all, have died

  // Kills it when a time limit is reached; next_check(): when to call check() next. Sessions have
  // no time limit here.
  Clock::time_point next_check() const;
  void check(Clock::time_point now);

  void kill(EndReason reason);
  // As the kernel would: the host is short of memory. Counts as a kill for memory.
  void kill_for_memory();
  bool was_killed_for_memory() const { return killed_for_memory_; }
  bool is_ending() const { return end_reason_.has_value(); }
  EndReason end_reason() const { return end_reason_.value_or(EndReason::kExited); }
  // After its death: returns what it used, unless the client has been told already. Removes its
  // cgroups, or leaves them to later calls of clean_up(): a memory cgroup of its own takes the
  // kernel a while.
  enum class Report : bool { kNothing, kUsage };
  Usage finish(Report report);
  bool clean_up();
  // No process is in it any more: its uids may be reused.
  bool is_empty() const { return empty_; }
  bool is_clean() const { return cgroup_.is_removed(); }
  // What it has used so far.
  Usage usage() const;
  const sys::Cgroup& cgroup() const { return cgroup_; }

 private:
  Result<> check_limits_of_a_call(const Limits& limits) const;
  Result<> set_cgroup_limits(const Limits& limits, std::uint32_t cpu_weight);
  void begin_call(const Limits& limits);
  void check_between_calls(Clock::time_point now);
  std::chrono::microseconds cpu_used() const;
  Clock::time_point soonest_end(Clock::time_point now, std::chrono::microseconds used) const;

  SandboxId id_;
  Limits limits_;
  WallSet walls_;
  std::optional<std::uint32_t> slice_;
  std::optional<ProcessStart> process_;  // of the process engine: what to clean up
  std::optional<Waiting> waiting_;
  std::optional<Session> session_;
  std::optional<Reuse> reuse_;
  bool was_recycled_ = false;
  bool between_calls_ = false;  // of a runtime that stays
  bool peak_is_of_this_call_ = true;
  std::optional<Network> network_;
  Clock::time_point started_;
  Clock::time_point check_at_;  // no limit can be reached before
  std::optional<EndReason> end_reason_;
  bool killed_for_memory_ = false;
  bool empty_ = false;
  std::shared_ptr<const void> uid_lease_;
  std::vector<LayerRef> layers_;
  std::uint32_t cpu_weight_ = sys::kFullCpuWeight;
  std::chrono::microseconds cpu_before_take_{0};  // between two calls: before it began to wait
  // Destroyed bottom to top: the process dies first, the cgroup can go only when it is empty.
  sys::Cgroup cgroup_;
  UniqueFd init_;
};

}  // namespace glovebox::launcher
