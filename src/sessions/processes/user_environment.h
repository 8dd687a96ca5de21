// The differences between a session's user and root: home directory and environment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace glovebox::sessions {

// Prepended to the PATH of a session's user, but not to root's.
inline constexpr std::string_view kUsersPrograms = "/home/user/.local/bin";

std::string home_of(std::string_view user);
// `base` with the variables of that user (HOME, USER, LOGNAME), then the caller's own variables.
std::vector<std::string> environment_for(std::string_view user, std::vector<std::string> base,
                                         const std::vector<std::string>& more);

}  // namespace glovebox::sessions
