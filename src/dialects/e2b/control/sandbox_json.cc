#include "dialects/e2b/control/sandbox_json.h"

#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "dialects/e2b/control/egress.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/control/template_names.h"
#include "sessions/session_keeper.h"
#include "wire/json/stored_policy.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

constexpr std::string_view kClient = "glovebox";  // a constant that clients want to see

// Names like 3000-ID.<this> lead to a sandbox's ports. On loopback every *.localhost does, at the
// port the client came to.
json::value domain_of(const routing::App& app, const http::Request& request) {
  if (!app.settings.domain.empty()) return json::value(app.settings.domain);
  if (!app.settings.is_loopback) return nullptr;
  const std::string& host = request.host;
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && colon + 1 < host.size() &&
                        host.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return json::value(has_port ? "localhost" + host.substr(colon) : "localhost");
}

bool resumes_automatically(const store::SessionRecord& record) {
  const auto wanted = record.metadata.find(std::string(sessions::kAutoResume));
  return wanted != record.metadata.end() && wanted->second == "true";
}

std::string template_of(const store::SessionRecord& record) {
  return record.snapshot.empty() ? record.template_name : record.snapshot;
}

}  // namespace

std::uint32_t cpu_count(const Limits& limits) {
  return std::max<std::uint32_t>((limits.cpu_thousandths + 999) / 1000, 1);
}

json::object sandbox_json(const routing::App& app, const http::Request& request,
                          const store::SessionRecord& record) {
  const std::string& id = record.id.str();
  json::object sandbox{{"sandboxID", id},
                       {"templateID", template_of(record)},
                       {"alias", alias_of(record.template_name)},
                       {"clientID", kClient},
                       {"envdVersion", kEnvdVersion},
                       {"envdAccessToken", access_token(app, id)},
                       {"trafficAccessToken", nullptr},
                       {"domain", domain_of(app, request)}};
  if (!record.port_token.empty()) sandbox["trafficAccessToken"] = record.port_token;
  return sandbox;
}

json::object listed_json(const store::SessionRecord& record) {
  json::object metadata;
  for (const auto& [key, value] : record.metadata) {
    if (key != sessions::kAutoResume) metadata[key] = to_utf8(value);
  }
  return {{"sandboxID", record.id.str()},
          {"templateID", template_of(record)},
          {"alias", alias_of(record.template_name)},
          {"clientID", kClient},
          {"state", record.state == SessionState::kPaused ? "paused" : "running"},
          {"startedAt", utc_text(record.created_ms)},
          {"endAt", utc_text(record.expires_ms)},
          {"cpuCount", cpu_count(record.limits)},
          {"memoryMB", record.limits.memory_bytes >> 20},
          {"diskSizeMB", record.limits.disk_bytes >> 20},
          {"envdVersion", kEnvdVersion},
          {"metadata", std::move(metadata)},
          {"volumeMounts", json::array()}};
}

json::object detail_json(const routing::App& app, const http::Request& request,
                         const store::SessionRecord& record) {
  json::object detail = listed_json(record);
  detail["envdAccessToken"] = access_token(app, record.id.str());
  detail["domain"] = domain_of(app, request);
  const net::NetPolicy reach = wire::stored_policy(record.net);
  detail["allowInternetAccess"] = reach.base != net::NetBase::kNone;
  detail["lifecycle"] = {{"onTimeout", record.on_timeout == OnTimeout::kPause ? "pause" : "kill"},
                         {"autoResume", resumes_automatically(record)}};
  json::object network = egress_json(reach);
  network["allowPublicTraffic"] = record.port_token.empty();
  detail["network"] = std::move(network);
  if (record.state == SessionState::kPaused) detail["pauseMode"] = "full";
  return detail;
}

}  // namespace glovebox::e2b
