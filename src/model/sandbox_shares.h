// A sandbox's share of the kernel's tables that the whole host uses. Plain numbers; probe/shares.h
// derives them from the host's own limits. The values here are the smallest that are given.
#pragma once

#include <algorithm>
#include <cstdint>

namespace glovebox {

struct SandboxShares {
  std::uint32_t terminals = 16;
  std::uint32_t open_files = 131'072;  // of all its processes together
  std::uint32_t inotify_instances = 8;
  std::uint32_t inotify_watches = 2048;
  bool operator==(const SandboxShares&) const = default;
};

// The kernel bounds open files per process only: what one process may have, if each of `pids`
// processes has that many.
inline std::uint32_t open_files_of_a_process(const SandboxShares& shares, std::uint32_t pids) {
  constexpr std::uint32_t kFewest = 256;
  constexpr std::uint32_t kMost = 1024;
  return std::clamp(shares.open_files / std::max(pids, 1u), kFewest, kMost);
}

}  // namespace glovebox
