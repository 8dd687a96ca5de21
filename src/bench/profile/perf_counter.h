// Counters of the kernel for a process and all that it starts from then on (perf_event_open(2)).
// They need no tool, but CAP_PERFMON, and for system calls the kernel's tracepoints.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::bench {

enum class Event {
  kCpuTime,  // in nanoseconds
  kPageFaults,
  kContextSwitches,
  kSystemCalls,
  kMessagesSent,  // sendmsg and its like that succeeded
  kMessagesReceived,
};
inline constexpr unsigned kEvents = 6;

// The numbers of the tracepoints at which system calls begin and end.
class Tracepoints {
 public:
  // Mounts tracefs for itself, without attaching it anywhere.
  static Result<Tracepoints> find();

  std::uint64_t call_begins() const { return call_begins_; }
  std::uint64_t call_ends() const { return call_ends_; }

 private:
  std::uint64_t call_begins_ = 0;
  std::uint64_t call_ends_ = 0;
};

// `task` is a thread; `tracepoints` may be null for events that are not about system calls.
// kNotFound: the task has ended. The counter outlives the task.
Result<UniqueFd> open_counter(pid_t task, Event event, const Tracepoints* tracepoints);
// What was counted so far, including tasks that have ended.
Result<std::uint64_t> read_counter(const UniqueFd& counter);

}  // namespace glovebox::bench
