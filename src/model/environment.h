// What every program in a sandbox finds in its environment; variables of the template and of the caller
// come on top. Nothing of the environment of the process that starts it.
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

}  // namespace glovebox
