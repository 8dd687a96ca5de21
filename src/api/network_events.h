// Publishes the network gateway's decisions as events (GET /v1/events), and writes a gateway's
// restart to the logs of the sandboxes that lost their connections.
#pragma once

#include "events/event_hub.h"
#include "node/networks/network_service.h"
#include "sessions/sessions.h"

namespace glovebox::api {

// Starts publishing. All three arguments outlive the last callback of the network service.
void publish_network_events(node::NetworkService& networks, events::EventHub& events,
                            sessions::Sessions& sessions);

}  // namespace glovebox::api
