// Removes a file or a whole tree and follows no link: if an entry is replaced by a link meanwhile,
// the link is removed and not its target.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace glovebox::agent {

// Other mounts are left alone (kLeave), or gone into like anything else (kEnter).
enum class OtherMounts : bool { kEnter, kLeave };

// Counts what it removes, also when it fails in the end. What is not there is removed already.
Result<> remove_tree_at(int dir, const std::string& name, OtherMounts mounts,
                        std::uint64_t& removed);
// What is in the directory, not itself. Its descriptor is one to list.
Result<> empty_directory(int dir, OtherMounts mounts, std::uint64_t& removed);

}  // namespace glovebox::agent
