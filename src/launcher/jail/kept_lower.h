// The read-only part of a run's root, kept for the next run of the same uid slice: the host's
// layer, idmapped for the slice, and the overlay of /usr on it. No guest can write to either, and
// they hold nothing of a guest. Bounded; one that is not used for a while is dropped. Plain
// bookkeeping.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/unique_fd.h"

namespace glovebox::launcher {

struct KeptLower {
  UniqueFd skeleton;  // a layer for an overlay
  UniqueFd usr;       // to be cloned
};

class KeptLowers {
 public:
  using Clock = std::chrono::steady_clock;
  // More than the sandboxes of a busy host, and the slices that wait between two uses.
  static constexpr std::size_t kMost = 256;
  static constexpr std::chrono::seconds kIdle{10};

  // By the host's number of a slice's first uid. Null: there is none. Valid until the next call.
  const KeptLower* find(std::uint32_t host_uid, Clock::time_point now);
  // Replaces what is there; if there are too many, the one that was not used for longest goes.
  void add(std::uint32_t host_uid, KeptLower lower, Clock::time_point now);
  // Cheap before next_due().
  void drop_idle(Clock::time_point now);
  std::optional<Clock::time_point> next_due() const {
    return all_.empty() ? std::nullopt : std::optional(look_at_);
  }
  void clear() { all_.clear(); }
  std::size_t size() const { return all_.size(); }

 private:
  struct Entry {
    KeptLower lower;
    Clock::time_point used_at;
  };
  std::map<std::uint32_t, Entry>::const_iterator oldest() const;

  std::map<std::uint32_t, Entry> all_;
  Clock::time_point look_at_{};  // not before this can one be idle
};

}  // namespace glovebox::launcher
