// GET /v1/live: a WebSocket with the events of the caller's project, as they happen, and the
// overview's samples. A slow client loses events, and is told how many.
#pragma once

#include <boost/asio/io_context.hpp>
#include <span>

#include "api/overview/overview_sampler.h"
#include "events/event_hub.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "runs/activity.h"

namespace glovebox::api {

class LiveRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    const routing::Authenticator& authenticator;
    events::EventHub& events;
    const runs::Activity& activity;
    const OverviewSampler& sampler;
  };
  explicit LiveRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<LiveRoutes>> rows();

  asio::awaitable<void> follow(http::Request& request, http::RawStream& raw);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
