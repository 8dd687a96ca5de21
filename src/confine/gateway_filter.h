// The egress gateway's own system-call filter: sockets of the internet and one to ask the kernel
// for routes, splicing, waiting, and reading a file. No program, no process, no thread, no file
// written, no local socket but those that are open or accepted.
#pragma once

#include "base/result.h"

namespace glovebox::confine {

// Before the first guest's byte is read. What is not on the list fails with EPERM; starting a
// program ends the process.
Result<> install_gateway_filter();

}  // namespace glovebox::confine
