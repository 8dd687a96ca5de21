// What the E2B dialect needs to know of its server.
#pragma once

#include <string>

#include "net/net_policy.h"

namespace glovebox::e2b {

struct Settings {
  // The access tokens of sandboxes are derived from it; the same after a restart. Empty: there are
  // no tokens, and no client can use a sandbox's agent.
  std::string secret{};
  std::string domain{};       // host names of sandboxes' ports are below it; empty: not configured
  bool is_loopback = true;    // the server listens on loopback only
  net::NetCeiling ceiling{};  // what the administrator lets sandboxes reach
};

}  // namespace glovebox::e2b
