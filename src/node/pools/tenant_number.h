// The number by which the launcher knows a project (wire::CreateSandbox::tenant).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace glovebox::node {

// FNV-1a. It only has to tell projects apart, and their names are the administrator's. 0: no
// project.
inline std::uint64_t tenant_number(std::string_view project) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : project) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return project.empty() ? 0 : std::max<std::uint64_t>(hash, 1);
}

}  // namespace glovebox::node
