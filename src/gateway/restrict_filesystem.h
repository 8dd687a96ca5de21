// Restricts the gateway to the files it rereads while it runs: resolv.conf and hosts. A seccomp
// filter cannot check paths, so this uses Landlock where the kernel has it. Rootless, this is what
// keeps a compromised gateway from its user's files.
#pragma once

#include "base/result.h"

namespace glovebox::gateway {

// Cannot be undone. Files below /etc, and below the directories that /etc/resolv.conf and
// /etc/hosts link to, can be read; nothing else can be read, and nothing can be written, created or
// executed. Does nothing without Landlock.
Result<> restrict_to_resolver_files();

}  // namespace glovebox::gateway
