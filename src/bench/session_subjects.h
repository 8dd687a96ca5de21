// Session measurements: creation, programs, contexts and files, and how they change with a thousand
// sessions.
#pragma once

#include <vector>

#include "bench/bench_options.h"
#include "bench/subjects.h"
#include "client/connection/server_location.h"

namespace glovebox::bench {

std::vector<Subject> make_session_subjects(const client::ServerLocation& location,
                                           const Effort& effort);

}  // namespace glovebox::bench
