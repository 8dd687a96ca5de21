#include "dialects/e2b/control/sandbox_json.h"

#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "dialects/e2b/control/egress.h"
#include "dialects/e2b/control/template_names.h"
#include "http/origin_rules.h"
#include "sessions/session_lifecycle.h"
#include "wire/json/stored_policy.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

constexpr std::string_view kClient = "glovebox";  // clients require one

bool resumes_automatically(const store::SessionRecord& record) {
  const auto entry = record.metadata.find(std::string(sessions::kAutoResume));
  return entry != record.metadata.end() && entry->second == "true";
}

std::string template_of(const store::SessionRecord& record) {
  return record.snapshot.empty() ? record.template_name : record.snapshot;
}

}  // namespace

std::uint32_t cpu_count(const Limits& limits) {
  return std::max<std::uint32_t>((limits.cpu_thousandths + 999) / 1000, 1);
}

// Host names of the form 3000-ID.<domain> lead to a sandbox's ports, at the port that the client
// connected to: that of a proxy may be another one than ours. On loopback every *.localhost does.
json::value SandboxJson::domain_of(const http::Request& request) const {
  if (!settings_.domain.empty()) {
    const std::string port = http::port_at_domain(request.host, settings_.domain);
    return json::value(port.empty() ? settings_.domain : settings_.domain + ":" + port);
  }
  if (!settings_.is_loopback) return nullptr;
  const std::string& host = request.host;
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && colon + 1 < host.size() &&
                        host.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return json::value(has_port ? "localhost" + host.substr(colon) : "localhost");
}

json::object SandboxJson::with_tokens(const http::Request& request,
                                      const store::SessionRecord& record) const {
  const std::string& id = record.id.str();
  json::object sandbox{{"sandboxID", id},
                       {"templateID", template_of(record)},
                       {"alias", alias_of(record.template_name)},
                       {"clientID", kClient},
                       {"envdVersion", kEnvdVersion},
                       {"envdAccessToken", tokens_.token_of(id)},
                       {"trafficAccessToken", nullptr},
                       {"domain", domain_of(request)}};
  if (!record.port_token.empty()) sandbox["trafficAccessToken"] = record.port_token;
  return sandbox;
}

json::object SandboxJson::listed(const store::SessionRecord& record) {
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

json::object SandboxJson::detailed(const http::Request& request,
                                   const store::SessionRecord& record) const {
  json::object detail = listed(record);
  detail["envdAccessToken"] = tokens_.token_of(record.id.str());
  detail["domain"] = domain_of(request);
  const net::NetPolicy reach = wire::stored_policy(record.net);
  detail["allowInternetAccess"] = reach.base != net::NetBase::kNone;
  detail["lifecycle"] = {{"onTimeout", record.on_timeout == OnTimeout::kKill ? "kill" : "pause"},
                         {"autoResume", resumes_automatically(record)}};
  json::object network = egress_json(reach);
  network["allowPublicTraffic"] = record.port_token.empty();
  if (!record.host_mask.empty()) network["maskRequestHost"] = record.host_mask;
  detail["network"] = std::move(network);
  if (record.state == SessionState::kPaused) {
    detail["pauseMode"] = record.paused_files_only ? "filesystem" : "full";
  }
  return detail;
}

}  // namespace glovebox::e2b
