// The cost of other clients' dialects beside the /v1 calls that implement them.
#pragma once

#include <vector>

#include "bench/bench_options.h"
#include "bench/subjects.h"
#include "client/connection/server_location.h"

namespace glovebox::bench {

std::vector<Subject> make_dialect_subjects(const client::ServerLocation& location,
                                           const Effort& effort);

}  // namespace glovebox::bench
