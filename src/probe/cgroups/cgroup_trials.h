// Tries limits on a group of one process. A group removes itself; the next doctor removes what a
// killed one left.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "probe/attempt.h"

namespace glovebox::probe {

enum class CgroupVersion : std::uint8_t { kV1, kV2 };

class TrialGroup {
 public:
  static Result<TrialGroup> make(const std::string& parent, const std::string& what);
  TrialGroup(TrialGroup&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TrialGroup& operator=(TrialGroup&&) = delete;
  ~TrialGroup();

  const std::string& path() const { return path_; }
  bool has(const std::string& file) const;

 private:
  explicit TrialGroup(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Each sets a limit, puts a helper under it and looks whether it was felt.
Attempt try_memory_limit(const TrialGroup& group, CgroupVersion version);
Attempt try_pids_limit(const TrialGroup& group);
Attempt try_cpu_limit(const TrialGroup& group, CgroupVersion version);

// v2: stops a process of the group, and ends it while it is stopped.
struct FreezeAndKill {
  Attempt freeze;
  Attempt kill;
};
FreezeAndKill try_freeze_and_kill(const TrialGroup& group);

// Removes gbx-doctor groups in `parent` whose doctor is dead.
void sweep_trial_groups(const std::string& parent);

}  // namespace glovebox::probe
