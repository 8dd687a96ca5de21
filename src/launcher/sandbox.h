// One sandbox, as the launcher holds it: its process, its cgroup, its uid slice, its deadlines.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/id.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/process_maker.h"
#include "model/limits.h"
#include "model/outcome.h"
#include "model/wall.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

using Clock = std::chrono::steady_clock;

class Sandbox {
 public:
  Sandbox(SandboxId id, Limits limits, WallSet walls, sys::Cgroup cgroup, UniqueFd init,
          std::optional<std::uint32_t> slice, std::optional<ProcessStart> process = {});

  const SandboxId& id() const { return id_; }
  const WallSet& walls() const { return walls_; }
  std::optional<std::uint32_t> slice() const { return slice_; }
  int pidfd() const { return init_.get(); }  // readable when its first process, so all, are dead

  // When to look at it next, and whether a limit has been reached by then.
  Clock::time_point next_check(Clock::time_point now) const;
  void check(Clock::time_point now);

  void kill(EndReason reason);
  bool is_ending() const { return end_reason_.has_value(); }
  EndReason end_reason() const { return end_reason_.value_or(EndReason::kExited); }
  // After its death: what it used. Its cgroup is gone with this call.
  Usage finish();
  // What it has used so far.
  Usage usage() const;

 private:
  SandboxId id_;
  Limits limits_;
  WallSet walls_;
  std::optional<std::uint32_t> slice_;
  std::optional<ProcessStart> process_;  // of the process engine: what to clean up
  Clock::time_point started_;
  std::optional<EndReason> end_reason_;
  // Destroyed bottom to top: the process dies first, the cgroup can go only when it is empty.
  sys::Cgroup cgroup_;
  UniqueFd init_;
};

}  // namespace glovebox::launcher
