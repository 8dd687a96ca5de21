// The server's own system-call filter: what serving HTTP from sockets that are already open, and
// keeping a database, need. No new program, no new process, no connection to anywhere.
#pragma once

#include "base/result.h"

namespace glovebox::confine {

// Before the first client's byte is read; threads that exist get it too. What is not on the list
// fails with EPERM; starting a program ends the process.
Result<> install_server_filter();

}  // namespace glovebox::confine
