// Covers the parts of a new /proc that reveal the host, and makes its settings read-only.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::agent {

// What has to be covered: names in /proc that exist and that others than the host's root may open.
// The same in every proc of a host, whatever its pid namespace.
struct ProcMask {
  std::vector<const char*> files;
  std::vector<const char*> directories;
};
// Looks at root/proc, which nothing covers yet.
ProcMask learn_proc_mask(const std::string& root);

// Of the broker, which makes many sandboxes: looks again after a second, because loading a kernel
// module can add a name.
class LearntProcMask {
 public:
  const ProcMask& get();

 private:
  ProcMask mask_;
  std::chrono::steady_clock::time_point learnt_at_{};
};

// `root` has proc mounted at root/proc, a null device at root/dev/null and an empty directory,
// where nothing is mounted yet, at root/dev/pts.
Result<> mask_proc_below(const std::string& root, const ProcMask& mask);
// Covers the host's boot id with the file that the launcher made; after mask_proc_below.
Result<> attach_boot_id(int mount_fd);

}  // namespace glovebox::agent
