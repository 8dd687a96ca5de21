// What memory a server's zygotes, and everything else that it keeps, take of this host.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace glovebox::bench {

struct MemoryUse {
  std::uint64_t zygotes = 0;        // how many interpreters wait to be forked
  std::uint64_t zygotes_kib = 0;    // their proportional set sizes: what they share counts once
  std::uint64_t all_kib = 0;        // of all processes below that one, itself included
  std::uint64_t available_kib = 0;  // what the host could still give away
};

// Of the processes below `root`. What ends while it is counted is left out.
MemoryUse memory_of_process_tree(pid_t root);

}  // namespace glovebox::bench
