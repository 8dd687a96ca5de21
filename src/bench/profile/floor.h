// The least that a run can cost on this host: what the kernel, the interpreter and an HTTP request
// take by themselves. Walls (mounts, cgroups, filters) and their teardown come on top.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/connection/server_location.h"

namespace glovebox::bench {

struct FloorPart {
  std::string name;
  double cpu_ms = 0;
  std::string missing;  // why it was not measured; empty: it was
};

// `calls` of each.
std::vector<FloorPart> measure_floor(const client::ServerLocation& location, pid_t server,
                                     unsigned calls);

}  // namespace glovebox::bench
