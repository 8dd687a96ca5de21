// What other clients' dialects cost beside the /v1 call that each stands on.
#pragma once

#include <vector>

#include "client/bench/options.h"
#include "client/bench/subjects.h"
#include "client/place.h"

namespace glovebox::bench {

std::vector<Subject> make_dialect_subjects(const client::Place& place, const Effort& effort);

}  // namespace glovebox::bench
