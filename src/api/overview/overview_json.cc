#include "api/overview/overview_json.h"

#include <boost/json.hpp>

#include "base/wall_clock.h"

namespace glovebox::api {

namespace json = boost::json;

json::value milliseconds_json(const std::optional<std::chrono::microseconds>& time) {
  if (!time) return nullptr;
  return static_cast<double>(time->count()) / 1000.0;
}

json::object sample_json(const runs::ActivitySample& sample) {
  return {{"at", utc_text(sample.at_ms)},
          {"sandboxes", sample.sandboxes},
          {"runs", sample.runs},
          {"p50_ms", milliseconds_json(sample.p50)},
          {"p99_ms", milliseconds_json(sample.p99)},
          {"warm_ready", sample.warm_ready},
          {"memory_bytes", sample.memory_bytes},
          {"refusals", sample.refusals}};
}

std::string event_json(const events::Event& event, const std::string& extra) {
  const json::value project =
      event.project.empty() ? json::value(nullptr) : json::value(event.project);
  return "{" + extra + "\"id\":" + std::to_string(event.id) +
         ",\"event\":" + json::serialize(json::value(event.type)) +
         ",\"project\":" + json::serialize(project) + ",\"data\":" + event.data + "}";
}

}  // namespace glovebox::api
