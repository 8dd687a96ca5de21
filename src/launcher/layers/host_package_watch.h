// Notices that the host's packages have changed, once the change is over.
#pragma once

#include <chrono>
#include <string>

namespace glovebox::launcher {

class HostPackages {
 public:
  HostPackages();
  // To be asked now and then. True once per change, after it has been quiet for a moment: a package
  // manager touches its records many times in one go.
  bool have_changed();

 private:
  std::string used_;  // how things were when what is in use was made
  std::string seen_;
  std::chrono::steady_clock::time_point seen_since_;
};

}  // namespace glovebox::launcher
