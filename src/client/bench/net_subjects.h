// What is measured of sandboxes' networks: starting with one, streams, new connections, a thousand
// relays, and neighbours of one that floods. Only with a server of the benchmark's own, which may
// reach the benchmark's own servers.
#pragma once

#include <vector>

#include "client/bench/net_calls.h"
#include "client/bench/options.h"
#include "client/bench/subjects.h"

namespace glovebox::bench {

std::vector<Subject> make_net_subjects(const NetServer& server, const Effort& effort);

}  // namespace glovebox::bench
