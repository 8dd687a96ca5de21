// The environment that every program in a sandbox starts with; the variables of the template and of
// the caller are added to it. Nothing is inherited from the process that starts it.
#pragma once

#include <string>
#include <vector>

namespace glovebox {

inline std::vector<std::string> base_environment() {
  return {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
          "HOME=/home/user",
          "USER=user",
          "LOGNAME=user",
          "SHELL=/bin/bash",
          "LANG=C.UTF-8",
          "TMPDIR=/tmp",
          "PYTHONDONTWRITEBYTECODE=1",
          "GLOVEBOX=1"};
}

// Later variables win over earlier ones of the same name.
std::vector<std::string> joined_environment(std::vector<std::string> base,
                                            const std::vector<std::string>& more);

}  // namespace glovebox
