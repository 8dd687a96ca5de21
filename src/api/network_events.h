// What the gateway decides and what becomes of it, told to those who listen (GET /v1/events), and
// in the log of the sandbox.
#pragma once

#include "routing/app.h"

namespace glovebox::api {

// From now on; `app` and its networks outlive each other's last call.
void publish_network_events(routing::App& app);

}  // namespace glovebox::api
