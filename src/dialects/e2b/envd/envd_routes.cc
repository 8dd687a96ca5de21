#include "dialects/e2b/envd/envd_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/cpu_usage.h"
#include "dialects/e2b/error_form.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

}  // namespace

std::span<const routing::RouteRow<EnvdRoutes>> EnvdRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<EnvdRoutes> kRows[] = {
      {Method::kGet, "/health", Access::kOpen, &EnvdRoutes::health, "Is the sandbox alive?", 0},
      {Method::kGet, "/metrics", Access::kOpen, &EnvdRoutes::metrics, "What the sandbox uses", 0},
      {Method::kGet, "/envs", Access::kOpen, &EnvdRoutes::environment,
       "Get the environment variables of a sandbox", 0},
  };
  return kRows;
}

Task<Response> EnvdRoutes::health(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kOptional);
  if (admission.refusal) co_return std::move(*admission.refusal);
  co_return Response::empty(204);
}

Task<Response> EnvdRoutes::metrics(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  std::string id(request.param("id"));
  const auto measured = co_await deps_.sampler.measure("*", std::move(id));
  if (!measured) co_return refusal(measured.error());
  const Limits& limits = measured->limits;
  const sessions::SessionSample& now = measured->now;
  const sessions::SessionSample* before =
      measured->history.empty() ? nullptr : &measured->history.back();
  const std::uint32_t cpus = cpu_count(limits);
  // The limit that the kernel enforces: the disk is memory, too.
  const std::uint64_t total = limits.memory_bytes + limits.disk_bytes;
  json::object body{{"ts", wall_clock_ms() / 1000},
                    {"cpu_count", cpus},
                    {"cpu_used_pct", cpu_used_percent(now, before, cpus)},
                    {"mem_total", total},
                    {"mem_used", now.memory_bytes.value_or(0)},
                    {"mem_cache", 0},
                    {"mem_total_mib", total / kMebibyte},
                    {"mem_used_mib", now.memory_bytes.value_or(0) / kMebibyte},
                    {"disk_used", now.disk_bytes},
                    {"disk_total", measured->usage.disk_limit_bytes}};
  co_return Response::json(json::serialize(body));
}

Task<Response> EnvdRoutes::environment(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  json::object body;
  for (const std::string& pair : deps_.sessions.environment(admission.session->id())) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) continue;
    body[to_utf8(pair.substr(0, equals))] = to_utf8(pair.substr(equals + 1));
  }
  co_return Response::json(json::serialize(body));
}

}  // namespace glovebox::e2b
