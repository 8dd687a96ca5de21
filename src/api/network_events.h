// Publishes what the network gateway decides as events (GET /v1/events), and writes a gateway's
// restart to the logs of the sandboxes it cut off.
#pragma once

#include "events/event_hub.h"
#include "node/networks/network_service.h"
#include "sessions/sessions.h"

namespace glovebox::api {

// From now on. All three outlive the last call of the network service.
void publish_network_events(node::NetworkService& networks, events::EventHub& events,
                            sessions::Sessions& sessions);

}  // namespace glovebox::api
