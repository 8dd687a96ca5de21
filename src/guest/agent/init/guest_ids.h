// The ids of the guest's programs inside every sandbox.
#pragma once

#include <sys/types.h>

namespace glovebox::agent {

inline constexpr uid_t kGuestUid = 1000;
inline constexpr gid_t kGuestGid = 1000;
inline constexpr const char* kHostName = "glovebox";

}  // namespace glovebox::agent
