// The ids of the guest's programs inside every sandbox.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace glovebox::agent {

inline constexpr uid_t kGuestUid = 1000;
inline constexpr gid_t kGuestGid = 1000;
inline constexpr std::string_view kHostName = "glovebox";

}  // namespace glovebox::agent
