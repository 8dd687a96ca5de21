// CPU time of one process with all its threads, by the clock that the kernel has for it.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "base/result.h"

namespace glovebox::bench {

// kNotFound: it has ended.
Result<std::chrono::nanoseconds> process_cpu_time(pid_t pid);

// Of this process and of its children that have ended.
std::chrono::nanoseconds own_cpu_time();

}  // namespace glovebox::bench
