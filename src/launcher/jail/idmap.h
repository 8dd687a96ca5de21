// A user namespace that is used only for an idmapped mount: one host uid appears as another one.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::launcher {

inline constexpr std::uint32_t kGuestUser = 1000;  // inside a sandbox

struct HostUser {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};
// Files of `on_disk` appear as owned by `shown_id`, user and group; all others as the overflow uid,
// and no file can be created with another owner.
Result<UniqueFd> make_idmap_namespace(HostUser on_disk, std::uint32_t shown_id);

}  // namespace glovebox::launcher
