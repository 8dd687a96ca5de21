// Packages that a caller wants in a sandbox, as the caller specified them. What they resolve to,
// and the layer that is made of it, is in packages/.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace glovebox {

inline constexpr std::size_t kMaxDependencies = 100;
inline constexpr std::size_t kMaxDependencyBytes = 300;           // of one
inline constexpr std::size_t kMaxRequirementsBytes = 256 * 1024;  // of a file's text

struct Dependencies {
  // "pandas>=2", "lodash@4": sorted, none twice, no options, paths or addresses.
  std::vector<std::string> packages;
  std::string requirements;  // the text of a requirements.txt, with or without hashes
  std::string lock;          // the text of a pylock.toml, or of a package-lock.json
  // Modules that the set's zygote imports ahead.
  std::vector<std::string> preload;
  // Python: whether the sandbox's interpreters also find the host's own packages (dist-packages).
  // Absent: as the template says, which is no unless its file says so.
  std::optional<bool> host_packages{};

  bool empty() const { return packages.empty() && requirements.empty() && lock.empty(); }
  bool operator==(const Dependencies&) const = default;
};

}  // namespace glovebox
