#include "dialects/sessions_api/session_json.h"

#include <boost/json.hpp>

#include "base/wall_clock.h"
#include "dialects/sessions_api/requests.h"
#include "wire/json/json_values.h"

namespace glovebox::sessions_api {
namespace {

namespace json = boost::json;

json::object resources_json(const Limits& limits) {
  return {{"cpu", static_cast<double>(limits.cpu_thousandths) / 1000.0},
          {"memory_mb", limits.memory_bytes >> 20},
          {"disk_mb", limits.disk_bytes >> 20},
          {"pids", limits.pids}};
}

}  // namespace

json::object session_json(const store::SessionRecord& record) {
  return {{"id", record.id.str()},
          {"mode", mode_name(mode_of(record))},
          {"status", session_state_name(record.state)},
          {"reason", wire::text_or_null(record.reason)},
          {"template", record.template_name},
          {"agent_id", wire::text_or_null(agent_of(record))},
          {"resources", resources_json(record.limits)},
          {"timeout", record.ttl_s},
          {"created_at", utc_text(record.created_ms)},
          {"expires_at", wire::time_or_null(record.expires_ms)},
          {"ended_at", wire::time_or_null(record.ended_ms)}};
}

json::object container_json(const store::SessionRecord& record) {
  return {{"id", record.id.str()},
          {"session_id", record.id.str()},
          {"status", session_state_name(record.state)},
          {"template", record.template_name},
          {"engine", engine_name(record.engine)},
          {"resources", resources_json(record.limits)},
          {"created_at", utc_text(record.created_ms)},
          {"ended_at", wire::time_or_null(record.ended_ms)}};
}

}  // namespace glovebox::sessions_api
