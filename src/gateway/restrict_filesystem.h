// Of all files the gateway reads two, again and again: resolv.conf and hosts. A system-call filter
// sees no paths, so that Landlock says which, where the kernel has it. Rootless, this is what keeps
// a gateway that was taken over from its user's files.
#pragma once

#include "base/result.h"

namespace glovebox::gateway {

// One way. Files below /etc, and below the directories where /etc/resolv.conf and /etc/hosts lead,
// can be read; nothing can be written, made, or executed elsewhere. Where there is no Landlock
// nothing happens.
Result<> see_only_files_of_names();

}  // namespace glovebox::gateway
