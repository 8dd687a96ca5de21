// Detects that the host's packages have changed, once the package manager is done.
#pragma once

#include <chrono>
#include <string>

namespace glovebox::launcher {

class HostPackageWatch {
 public:
  HostPackageWatch();
  // Called periodically. True once per change, when nothing has changed for two seconds: a package
  // manager updates its records many times in one run.
  bool have_changed();

 private:
  std::string used_;  // the state from which everything in use was made
  std::string seen_;
  std::chrono::steady_clock::time_point seen_since_;
};

}  // namespace glovebox::launcher
