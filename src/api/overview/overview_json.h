// The overview's samples and events as JSON; the same in GET /v1/overview and on /v1/live.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "events/event_hub.h"
#include "runs/activity.h"

namespace glovebox::api {

boost::json::object sample_json(const runs::ActivitySample& sample);
// {"id","event","project","data"} as text: `data` is JSON already. `extra` comes first, as in
// "\"type\":\"event\",".
std::string event_json(const events::Event& event, const std::string& extra = {});
// Milliseconds, or null.
boost::json::value milliseconds_json(const std::optional<std::chrono::microseconds>& time);

}  // namespace glovebox::api
