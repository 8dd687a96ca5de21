// Ends a program together with the process that started it.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace glovebox {

// From now on the end of `parent`, which started us, is a SIGTERM to us. The kernel forgets this
// when the user changes: call it after that. Fails if the parent has ended already.
Result<> end_with_parent(pid_t parent);

}  // namespace glovebox
