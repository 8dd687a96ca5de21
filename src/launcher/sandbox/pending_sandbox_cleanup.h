// Sandboxes that have died and whose cgroups could not be removed yet: the memory cgroup still has
// charges, or a process is still in it (a zygote's child that never arrived). Cleaned up a moment
// later, a few at a time, so that live sandboxes do not wait for it. Owned by SandboxTable.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>

#include "launcher/sandbox/sandbox.h"

namespace glovebox::launcher {

class PendingSandboxCleanup {
 public:
  // Called when the cgroups of a sandbox have become empty: its slice may be used again.
  using Release = std::function<void(const Sandbox&)>;

  void add(Sandbox sandbox);
  // Tries the sandboxes that are due, at most `most` of them; the others are tried again later.
  void clean_up(std::size_t most, const Release& release);
  // At the end of the launcher: tries all of them once.
  void clean_up_all(const Release& release);
  std::optional<Clock::time_point> next_due() const;

 private:
  struct Entry {
    Sandbox sandbox;
    Clock::time_point due;
  };
  static bool clean_up_one(Entry& entry, const Release& release);
  std::deque<Entry> entries_;
};

}  // namespace glovebox::launcher
