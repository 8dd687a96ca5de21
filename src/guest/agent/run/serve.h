// The agent of a run: PID 1 of a sealed sandbox. Handles the client's frames: uploads and downloads
// files, starts the one program of the run, reaps orphans, and exits with its client.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "guest/agent/init/seccomp_filter.h"
#include "guest/agent/run/runtime.h"
#include "model/limits.h"
#include "model/sandbox_shares.h"

namespace glovebox::agent {

// What is different without namespaces.
struct ProcessEngine {
  std::string home;      // stands for /home/user
  bool own_uid = false;  // no other process of the host has it
  ExtraFilter filter = ExtraFilter::kProcess;
  UniqueFd children;  // open_list_of_children()
};

struct ServePlan {
  UniqueFd link;
  UniqueFd landlock;  // empty: this kernel does not have it
  Limits limits;
  SandboxShares shares;
  bool memory_is_bounded = true;
  bool cpu_time_is_counted = true;
  bool change_user = true;
  std::optional<ProcessEngine> process;
  std::optional<Runtime> runtime;  // waits for its job
  // The runtime serves many calls, so a limit of CPU time, which is one call's, is left to the
  // cgroup where that counts.
  bool runtime_stays = false;
};

// Returns the exit status, once the client has gone or broken the protocol.
int serve(ServePlan plan);

// One call in a reusable sandbox. Returns the plan for the next call, without link and runtime,
// once the launcher says on its socket that this one is over and no process of the guest is left.
// Nothing if the sandbox must not be used again: the program was killed by a signal, was not
// started, did not end, or left a process behind; or the launcher has gone.
struct NextCall {
  ServePlan plan;
  std::vector<UniqueFd> scratch;  // wire::kScratchPlaces
};
// Calls of a runtime that stays are one here: the client asks between them what is left.
// `last_pid`, borrowed: see KeptRuntime.
std::optional<NextCall> serve_call(ServePlan plan, int launcher, int last_pid);

}  // namespace glovebox::agent
