// What is measured of sessions: creating them, programs and contexts in them, files, and how much
// of that changes with a thousand of them alive.
#pragma once

#include <vector>

#include "bench/bench_options.h"
#include "bench/subjects.h"
#include "client/connection/server_location.h"

namespace glovebox::bench {

std::vector<Subject> make_session_subjects(const client::ServerLocation& location,
                                           const Effort& effort);

}  // namespace glovebox::bench
