// A runtime that waits in a sandbox for its job: an interpreter forked from a zygote, or a process
// started ahead. It has its streams and is sealed like any guest program before the sandbox is
// taken; then it gets the client's limits and job.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

// The lowest descriptor that a runtime's start may still need when the runtime's own, 0 to 5, are
// put in their descriptors.
inline constexpr int kFirstFreeFd = 16;

// A guest's own; and those of a guest that was forked from a zygote.
inline constexpr unsigned kGuestFilters = 2;
inline constexpr unsigned kJoinedFilters = 3;

// Our side of a runtime, waiting or started cold.
struct Runtime {
  pid_t pid = 0;
  unsigned filters = kGuestFilters;  // that it must have at least
  UniqueFd job;     // what JobChunk brings is written here, to be read by the runtime
  UniqueFd socket;  // the runtime reports that it is ready, and is told to start
  std::vector<UniqueFd> client_ends;  // stdin, stdout, stderr, results
};

// Its own side, in the order in which it finds them as its descriptors 0 to 5.
struct RuntimeDescriptors {
  Runtime ours;
  std::vector<UniqueFd> theirs;
};
Result<RuntimeDescriptors> make_runtime_descriptors(bool change_user);

// Waits until the runtime reports that it is ready. It was forked from a zygote, which is not
// trusted, so it is then checked from outside: no capability, the guest's user, no_new_privs, the
// guest's filters, and no other process in the sandbox. Fails otherwise.
Result<> await_ready(Runtime& runtime, bool change_user);

// Checks by /proc/<pid>/status that a process is sealed like a guest's. In a session it may gain
// the privileges of root inside.
enum class SealOf : bool { kRun, kSession };
Result<> check_sealed(std::string_view status, bool change_user, unsigned filters,
                      SealOf seal = SealOf::kRun);

}  // namespace glovebox::agent
