// An error that a sandbox reported, as an Error of ours: with its errno, and with a message that is
// safe to print.
#pragma once

#include <string_view>

#include "base/error.h"

namespace glovebox::node {

Errc errc_of_guest(int sys_errno);
// `what`: the sandbox's message, or ours; empty: the description of the errno only.
Error guest_error(int sys_errno, std::string_view what);

}  // namespace glovebox::node
