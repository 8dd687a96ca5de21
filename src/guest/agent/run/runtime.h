// A runtime that waits in a sandbox for its job: an interpreter forked from a zygote, or a process
// started ahead. It has its streams, and is sealed as any program of a guest's, before there is a
// caller; at the take it gets the caller's limits and job.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

// The lowest descriptor that a runtime's start may still need when the runtime's own, 0 to 5, are
// put in their places.
inline constexpr int kAboveItsOwn = 16;

// A guest's own; and those of a guest that was forked from a zygote.
inline constexpr unsigned kGuestFilters = 2;
inline constexpr unsigned kJoinedFilters = 3;

// Our side of a runtime, waiting or started cold.
struct Runtime {
  pid_t pid = 0;
  unsigned filters = kGuestFilters;  // that it must have at least
  UniqueFd job;     // what JobChunk brings is written here, to be read by the runtime
  UniqueFd socket;  // the runtime says that it is ready, and is told to go
  std::vector<UniqueFd> client_ends;  // stdin, stdout, stderr, results
};

// Its own side, in the order in which it finds them as its descriptors 0 to 5.
struct RuntimePlaces {
  Runtime ours;
  std::vector<UniqueFd> theirs;
};
Result<RuntimePlaces> make_runtime_places(bool change_user);

// Until the runtime says that it is ready. It is then looked at from outside, because it was forked
// from something that we do not trust: no capability, the guest's user, no new privileges, the
// guest's filters, and nobody else in the sandbox. Fails if it is anything else.
Result<> await_ready(Runtime& runtime, bool change_user);

// What /proc/<pid>/status says of a process that is sealed as a guest's must be. In a session it
// may gain privileges: those of root inside.
enum class SealOf : bool { kRun, kSession };
Result<> check_sealed(std::string_view status, bool change_user, unsigned filters,
                      SealOf seal = SealOf::kRun);

}  // namespace glovebox::agent
