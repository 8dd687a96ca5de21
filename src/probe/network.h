// Whether this kernel can give a sandbox a network of its own: nftables with tproxy in a namespace,
// made as a sandbox's is, and a connection that ends at its socket.
#pragma once

#include "probe/attempt.h"
#include "probe/finding.h"

namespace glovebox::probe {

struct NetworkFacts {
  Attempt own{};
};

NetworkFacts probe_network();
void explain(const NetworkFacts& facts, Findings& findings);

}  // namespace glovebox::probe
