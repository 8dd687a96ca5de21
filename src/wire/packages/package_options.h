// Packages as a command line names them: --with, --requirements, --lock, --preload,
// --host-packages. The files are read here, and everything is checked as a server would, before
// anything is started.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/dependencies.h"

namespace glovebox::wire {

struct PackageOptions {
  std::vector<std::string> with{};     // "pandas>=2"
  std::string requirements{};          // a file
  std::string lock{};                  // a file
  std::vector<std::string> preload{};  // "a,b.c"
  bool host_packages = false;          // false: as the template says

  bool names_packages() const { return !with.empty() || !requirements.empty() || !lock.empty(); }
  bool is_given() const { return names_packages() || !preload.empty() || host_packages; }
};

// kInvalidArgument: the message begins with the option. Others: a file cannot be read.
Result<Dependencies> read_package_options(const PackageOptions& options);

// What packages are for when no template was named: "python", or "node" with a package-lock.json.
std::string default_template(const Dependencies& dependencies);

}  // namespace glovebox::wire
