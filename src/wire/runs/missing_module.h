// The hint about a Python module that a run's sandbox does not have. Read from what the program
// printed, which is the guest's: nothing but a hint may depend on it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glovebox::wire {

// Reads a program's error output and keeps the end of it.
class MissingModule {
 public:
  void add(std::string_view bytes);
  // The package in "ModuleNotFoundError: No module named 'yaml.x'", if that is the last line:
  // letters, digits and '_' only. Else empty.
  std::string name() const;

 private:
  std::string end_{};
};

enum class HostPackages { kVisible, kHidden };

// One line, without its end. `module` is not empty. With kHidden the run has packages, and those of
// the host are not visible.
std::string missing_module_hint(const std::string& module, HostPackages host);

}  // namespace glovebox::wire
