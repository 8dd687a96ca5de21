// What the gateway decides and what becomes of it, told to those who listen (GET /v1/events), and
// in the log of the sandbox.
#pragma once

#include "control/app.h"

namespace glovebox::control {

// From now on; `app` and its networks outlive each other's last call.
void tell_of_networks(App& app);

}  // namespace glovebox::control
