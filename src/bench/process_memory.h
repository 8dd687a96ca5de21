// Memory use of a server's zygotes and of all its processes.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace glovebox::bench {

struct MemoryUse {
  std::uint64_t zygotes = 0;        // number of zygotes
  std::uint64_t zygotes_kib = 0;    // their proportional set size (PSS)
  std::uint64_t all_kib = 0;        // PSS of the root process and all its descendants
  std::uint64_t available_kib = 0;  // MemAvailable of the host
};

// Of `root` and its descendants. Ignores processes that end meanwhile.
MemoryUse memory_of_process_tree(pid_t root);

}  // namespace glovebox::bench
