// What a sandbox says went wrong, as an error of ours: its errno stays beside it, its words are
// made harmless.
#pragma once

#include <string_view>

#include "base/error.h"

namespace glovebox::node {

Errc errc_of_guest(int sys_errno);
// `what` is the sandbox's own words, or ours; empty: only the errno's.
Error guest_error(int sys_errno, std::string_view what);

}  // namespace glovebox::node
