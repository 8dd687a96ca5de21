// Network measurements: starting with a network, streams, new connections, a thousand relays, and
// the effect of a flooding neighbour. Needs a server that the benchmark has started, so that it can
// reach its servers.
#pragma once

#include <vector>

#include "bench/bench_options.h"
#include "bench/network_calls.h"
#include "bench/subjects.h"

namespace glovebox::bench {

std::vector<Subject> make_network_subjects(const MeasuredServer& server, const Effort& effort);

}  // namespace glovebox::bench
