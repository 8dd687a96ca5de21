// The writable layers of a sandbox's overlays, and the directories where they are mounted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

struct SnapshotLayer {
  UniqueFd layer;
  UniqueFd seen;       // the directory its overlay is mounted at
  std::string prefix;  // of names in an archive: "" or "usr/"
};

// `upper` is the root of the sandbox's writable filesystem.
Result<std::vector<SnapshotLayer>> open_snapshot_layers(int upper);

}  // namespace glovebox::agent
