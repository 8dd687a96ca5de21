#include "sessions/session_json.h"

#include <boost/json.hpp>

#include "base/wall_clock.h"
#include "packages/package_json.h"
#include "wire/json/json_values.h"
#include "wire/json/stored_policy.h"
#include "wire/runs/run_answer.h"

namespace glovebox::sessions {
namespace {

namespace json = boost::json;

json::object limits_json(const Limits& limits) {
  return {{"memory_mb", limits.memory_bytes >> 20},
          {"disk_mb", limits.disk_bytes >> 20},
          {"pids", limits.pids},
          {"cpus", static_cast<double>(limits.cpu_thousandths) / 1000.0}};
}

json::value packages_json(const store::SessionRecord& session) {
  json::value packages = packages::dependencies_json(session.dependencies);
  if (json::object* object = packages.if_object())
    (*object)["layer"] = wire::text_or_null(session.layer);
  return packages;
}

}  // namespace

json::object sandbox_json(const store::SessionRecord& session) {
  json::object metadata;
  for (const auto& [key, value] : session.metadata) metadata[key] = value;
  return {{"id", session.id.str()},
          {"state", session_state_name(session.state)},
          {"template", session.template_name},
          {"snapshot", wire::text_or_null(session.snapshot)},
          {"agent_id", wire::text_or_null(session.agent_id)},
          {"name", wire::text_or_null(session.name)},
          {"metadata", std::move(metadata)},
          {"on_timeout", session.on_timeout == OnTimeout::kKill ? "kill" : "pause"},
          {"ttl_s", session.ttl_s},
          {"created_at", utc_text(session.created_ms)},
          {"expires_at", wire::time_or_null(session.expires_ms)},
          {"ended_at", wire::time_or_null(session.ended_ms)},
          {"reason", wire::text_or_null(session.reason)},
          {"engine", engine_name(session.engine)},
          {"isolation", wire::isolation_json(session.engine, session.walls)},
          {"limits", limits_json(session.limits)},
          {"profile", session.profile},
          {"net", wire::stored_policy_json(session.net)},
          {"dependencies", packages_json(session)},
          {"private_ports", !session.port_token.empty()},
          {"port_token", nullptr},
          {"features",
           {{"pause", can_pause(session.walls)},
            {"sudo", can_sudo(session.walls)},
            {"memory_snapshot", false},
            {"filesystem_snapshot", true},
            {"terminal", true},
            {"ports", true}}}};
}

json::object snapshot_json(const store::SnapshotRecord& snapshot) {
  return {{"id", snapshot.id.str()},
          {"name", wire::text_or_null(snapshot.name)},
          {"sandbox", snapshot.sandbox},
          {"template", snapshot.template_name},
          {"bytes", snapshot.bytes},
          {"files", snapshot.files},
          {"dependencies", packages::dependencies_json(snapshot.dependencies)},
          {"created_at", utc_text(snapshot.created_ms)}};
}

std::string session_event(const store::SessionRecord& session) {
  const json::object data{{"id", session.id.str()},
                          {"state", session_state_name(session.state)},
                          {"template", session.template_name},
                          {"agent_id", wire::text_or_null(session.agent_id)},
                          {"reason", wire::text_or_null(session.reason)},
                          {"at", utc_text(wall_clock_ms())}};
  return json::serialize(data);
}

}  // namespace glovebox::sessions
