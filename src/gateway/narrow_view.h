// Of all files the gateway reads one, again and again: resolv.conf. A system-call filter sees no
// paths, so that Landlock says which, where the kernel has it. Rootless, this is what keeps a
// gateway that was taken over from its user's files.
#pragma once

#include "base/result.h"

namespace glovebox::gateway {

// One way. Files below /etc, and below the directory where /etc/resolv.conf leads, can be read;
// nothing can be written, made, or executed elsewhere. Where there is no Landlock nothing happens.
Result<> see_only_resolv_conf();

}  // namespace glovebox::gateway
