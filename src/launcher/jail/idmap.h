// A user namespace that exists only for its mapping: one host uid shown as one other.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::launcher {

struct HostUser {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};
// Files of `on_disk` appear as `shown_id`'s, user and group; all others as nobody's, and nothing
// can be made as anybody else.
Result<UniqueFd> make_idmap_namespace(HostUser on_disk, std::uint32_t shown_id);

}  // namespace glovebox::launcher
