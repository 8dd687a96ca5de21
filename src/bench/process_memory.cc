#include "bench/process_memory.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "bench/process_tree.h"

namespace glovebox::bench {
namespace {

// "Pss:      123 kB"
std::uint64_t kib_behind(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + word.size(), nullptr, 10);
}

// The number of pid namespaces that a process is in.
std::size_t depth_of(const std::string& location) {
  const std::string status = proc_text(location + "/status");
  const std::size_t at = status.find("\nNSpid:");
  if (at == std::string::npos) return 0;
  const std::size_t end = status.find('\n', at + 1);
  return static_cast<std::size_t>(std::count(status.begin() + static_cast<std::ptrdiff_t>(at),
                                             status.begin() + static_cast<std::ptrdiff_t>(end),
                                             '\t'));
}

}  // namespace

MemoryUse memory_of_process_tree(pid_t root) {
  MemoryUse held;
  held.available_kib = kib_behind(proc_text("/proc/meminfo"), "MemAvailable:");
  const std::size_t depth = depth_of("/proc/" + std::to_string(root));
  for (const pid_t pid : process_tree(root)) {
    const std::string location = "/proc/" + std::to_string(pid);
    const std::uint64_t kib = kib_behind(proc_text(location + "/smaps_rollup"), "\nPss:");
    held.all_kib += kib;
    // The interpreter of a sandbox is one namespace deeper.
    const bool is_zygote =
        depth_of(location) == depth + 1 && proc_text(location + "/comm").starts_with("python");
    if (is_zygote) {
      ++held.zygotes;
      held.zygotes_kib += kib;
    }
  }
  return held;
}

}  // namespace glovebox::bench
