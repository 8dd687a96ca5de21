#include "api/routes/sandboxes/sandbox_metrics_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/wall_clock.h"
#include "routing/sandbox_logs.h"
#include "sessions/processes/process_json.h"
#include "wire/network/net_policy_json.h"
#include "wire/network/network_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

template <class Number>
json::value counted_or_null(const std::optional<Number>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::object sample_json(const sessions::SessionSample& sample) {
  return {{"at", utc_text(sample.at_ms)},
          {"cpu_us", counted_or_null(sample.cpu_us)},
          {"memory_bytes", counted_or_null(sample.memory_bytes)},
          {"disk_bytes", sample.disk_bytes},
          {"processes", counted_or_null(sample.processes)}};
}

json::object now_json(const sessions::SessionSampler::Measured& measured) {
  json::object now = sample_json(measured.now);
  now["peak_memory_bytes"] = counted_or_null(measured.usage.peak_memory_bytes);
  // The limit that the kernel enforces: the disk is in memory, too.
  now["memory_limit_bytes"] = measured.limits.memory_bytes + measured.limits.disk_bytes;
  // Both are counted with the memory.
  const bool is_counted = measured.usage.memory_bytes.has_value();
  now["socket_bytes"] =
      is_counted ? json::value(measured.usage.socket_bytes) : json::value(nullptr);
  now["disk_limit_bytes"] = measured.usage.disk_limit_bytes;
  now["processes_limit"] = measured.limits.pids;
  now["oom_kills"] = is_counted ? json::value(measured.usage.oom_kills) : json::value(nullptr);
  return now;
}

}  // namespace

std::span<const routing::RouteRow<SandboxMetricsRoutes>> SandboxMetricsRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<SandboxMetricsRoutes> kRows[] = {
      {Method::kGet, "/v1/sandboxes/{id}/network", routing::Access::kKey,
       &SandboxMetricsRoutes::sandbox_network,
       "Get a sandbox's network policy and network activity"},
      {Method::kGet, "/v1/sandboxes/{id}/metrics", routing::Access::kKey,
       &SandboxMetricsRoutes::sandbox_metrics,
       "Get the current and recent resource usage of a sandbox"},
      {Method::kGet, "/v1/sandboxes/{id}/logs", routing::Access::kKey,
       &SandboxMetricsRoutes::sandbox_logs, "Get the recent log of a sandbox"},
  };
  return kRows;
}

Task<Response> SandboxMetricsRoutes::sandbox_metrics(Request& request, ResponseWriter&) {
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  CO_TRY(const std::string project, routing::project_of(*who, request));
  std::string id(request.param("id"));
  CO_TRY(const auto measured, co_await deps_.sampler.measure(project, std::move(id)));
  json::array history;
  for (const sessions::SessionSample& sample : measured.history)
    history.push_back(sample_json(sample));
  const json::object body{{"now", now_json(measured)}, {"history", std::move(history)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> SandboxMetricsRoutes::sandbox_logs(Request& request, ResponseWriter&) {
  co_return co_await routing::respond_with_logs(deps_.authenticator, deps_.registry, request);
}

Task<Response> SandboxMetricsRoutes::sandbox_network(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  std::string id(request.param("id"));
  CO_TRY(const sessions::SessionNetworks::Reach reach,
         co_await deps_.networks.read(caller.project, std::move(id)));
  json::object body = wire::network_json(reach.figures);
  body["net"] = wire::net_policy_json(reach.policy);
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
