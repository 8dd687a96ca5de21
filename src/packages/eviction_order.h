// What goes first when projects together keep too much: of the project that keeps most, what was
// not used for longest; and so on with what is left. A project's volume costs another one nothing
// that keeps less.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glovebox::packages {

struct Evictable {
  std::string id;
  std::string owner;         // a project
  std::uint64_t weight = 0;  // of what there is too much of
  std::int64_t used_ms = 0;  // the last time
  bool stays = false;        // counts for its owner, but cannot go
};

// The ids of those that can go.
std::vector<std::string> eviction_order(std::vector<Evictable> all);

}  // namespace glovebox::packages
