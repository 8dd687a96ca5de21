// Covers the parts of a new /proc that reveal the host, and makes its settings read-only.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::agent {

// `root` has proc mounted at root/proc, a null device at root/dev/null and an empty directory,
// where nothing is mounted yet, at root/dev/pts.
Result<> mask_proc_below(const std::string& root);
// Covers the host's boot id with the file that the launcher made; after mask_proc_below.
Result<> attach_boot_id(int mount_fd);

}  // namespace glovebox::agent
