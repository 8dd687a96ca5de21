// GET /v1/events: events of the caller's project, as server-sent events, until the client
// disconnects or the server stops.
#pragma once

#include <span>

#include "events/event_hub.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"

namespace glovebox::api {

class EventRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    events::EventHub& events;
  };
  explicit EventRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<EventRoutes>> rows();

  Task<http::Response> stream_events(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
