// What is measured of sandboxes' networks: starting with one, streams, new connections, a thousand
// relays, and neighbours of one that floods. Only with a server of the benchmark's own, which may
// reach the benchmark's own servers.
#pragma once

#include <vector>

#include "bench/bench_options.h"
#include "bench/network_calls.h"
#include "bench/subjects.h"

namespace glovebox::bench {

std::vector<Subject> make_network_subjects(const MeasuredServer& server, const Effort& effort);

}  // namespace glovebox::bench
