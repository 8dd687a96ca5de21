#include "dialects/e2b/control/sandbox_metrics_routes.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/control/sandbox_lookup.h"
#include "dialects/e2b/cpu_usage.h"
#include "dialects/e2b/error_form.h"
#include "routing/query.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;

constexpr std::size_t kMaxSandboxesPerQuery = 100;
constexpr std::uint64_t kNoBound = 1ull << 53;

json::object metric_json(const sessions::SessionSample& sample,
                         const sessions::SessionSample* before,
                         const sessions::SessionSampler::Measured& measured) {
  const std::uint32_t cpus = cpu_count(measured.limits);
  return {{"timestamp", utc_text(sample.at_ms)},
          {"timestampUnix", sample.at_ms / 1000},
          {"cpuCount", cpus},
          {"cpuUsedPct", cpu_used_percent(sample, before, cpus)},
          {"memUsed", sample.memory_bytes.value_or(0)},
          // The limit that the kernel enforces: the disk is memory, too.
          {"memTotal", measured.limits.memory_bytes + measured.limits.disk_bytes},
          {"memCache", 0},
          {"diskUsed", sample.disk_bytes},
          {"diskTotal", measured.usage.disk_limit_bytes}};
}

const sessions::SessionSample* last_of(const std::deque<sessions::SessionSample>& history) {
  return history.empty() ? nullptr : &history.back();
}

std::string_view level_of(const sessions::SessionLine& line) {
  return line.kind == "error" || line.kind == "oom" ? "error" : "info";
}

json::object log_entry_json(const sessions::SessionLine& line) {
  json::object fields{{"kind", line.kind}};
  if (line.process != 0) fields["process"] = std::to_string(line.process);
  const std::string message = to_utf8(line.message);
  return {{"timestamp", utc_text(line.at_ms)},
          {"message", message.empty() ? line.kind : message},
          {"level", level_of(line)},
          {"fields", std::move(fields)}};
}

}  // namespace

std::span<const routing::RouteRow<SandboxMetricsRoutes>> SandboxMetricsRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<SandboxMetricsRoutes> kRows[] = {
      {Method::kGet, "/sandboxes/metrics", Access::kKey, &SandboxMetricsRoutes::metrics_of_several,
       "Get the current resource usage of sandboxes (E2B)"},
      {Method::kGet, "/sandboxes/{id}/metrics", Access::kKey, &SandboxMetricsRoutes::metrics,
       "Get the recent resource usage of a sandbox (E2B)"},
      {Method::kGet, "/sandboxes/{id}/logs", Access::kKey, &SandboxMetricsRoutes::logs_v1,
       "Get the log of a sandbox (E2B, older clients)"},
      {Method::kGet, "/v2/sandboxes/{id}/logs", Access::kKey, &SandboxMetricsRoutes::logs_v2,
       "Get the log of a sandbox (E2B)"},
  };
  return kRows;
}

Task<Response> SandboxMetricsRoutes::metrics(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const std::uint64_t start, routing::query_number(request, "start", 0, kNoBound, 0));
  CO_TRY(const std::uint64_t end, routing::query_number(request, "end", 0, kNoBound, kNoBound));
  const std::string id = sandbox_id_of(request);
  CO_TRY_OK(co_await find_sandbox(deps_.registry, caller.project, id));
  auto measured = co_await deps_.sampler.measure(caller.project, id);
  if (!measured) co_return fail(change_error(std::move(measured.error()), id));
  json::array shown;
  const sessions::SessionSample* before = nullptr;
  const auto add = [&](const sessions::SessionSample& sample) {
    const auto at = static_cast<std::uint64_t>(sample.at_ms / 1000);
    if (at >= start && at <= end) shown.push_back(metric_json(sample, before, *measured));
    before = &sample;
  };
  for (const sessions::SessionSample& sample : measured->history) add(sample);
  add(measured->now);
  co_return Response::json(json::serialize(shown));
}

Task<Response> SandboxMetricsRoutes::metrics_of_several(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  std::string_view rest = request.query.get("sandbox_ids");
  json::object sandboxes;
  for (std::size_t asked = 0; !rest.empty(); ++asked) {
    if (asked == kMaxSandboxesPerQuery) {
      co_return refusal(400, "sandbox_ids: must name at most 100 sandboxes");
    }
    const std::string id(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(id.size() + 1, rest.size()));
    const auto measured = co_await deps_.sampler.measure(caller.project, id);
    if (!measured) continue;
    sandboxes[id] = metric_json(measured->now, last_of(measured->history), *measured);
  }
  const json::object body{{"sandboxes", std::move(sandboxes)}};
  co_return Response::json(json::serialize(body));
}

Task<Response> SandboxMetricsRoutes::logs_v1(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const std::uint64_t start,
         routing::query_number(request, "start", 0, kNoBound, 0));  // milliseconds
  CO_TRY(const std::uint64_t limit, routing::query_number(request, "limit", 0, kNoBound, kNoBound));
  const std::string id = sandbox_id_of(request);
  auto lines = co_await deps_.registry.lines(caller.project, id, sessions::SessionEntry::kLines);
  if (!lines) co_return fail(change_error(std::move(lines.error()), id));
  json::array logs;
  json::array entries;
  for (const sessions::SessionLine& line : *lines) {
    if (static_cast<std::uint64_t>(line.at_ms) < start || logs.size() >= limit) continue;
    json::object entry = log_entry_json(line);
    logs.push_back(json::object{{"timestamp", entry["timestamp"]}, {"line", entry["message"]}});
    entries.push_back(std::move(entry));
  }
  const json::object body{{"logs", std::move(logs)}, {"logEntries", std::move(entries)}};
  co_return Response::json(json::serialize(body));
}

Task<Response> SandboxMetricsRoutes::logs_v2(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  const std::string_view direction = request.query.get("direction");
  const bool is_backward = direction == "backward";
  if (!direction.empty() && !is_backward && direction != "forward") {
    co_return refusal(400, "direction: must be forward or backward");
  }
  const std::uint64_t from = is_backward ? kNoBound : 0;
  CO_TRY(const std::uint64_t cursor, routing::query_number(request, "cursor", 0, kNoBound, from));
  CO_TRY(const std::uint64_t limit, routing::query_number(request, "limit", 0, kNoBound, kNoBound));
  const std::string id = sandbox_id_of(request);
  auto lines = co_await deps_.registry.lines(caller.project, id, sessions::SessionEntry::kLines);
  if (!lines) co_return fail(change_error(std::move(lines.error()), id));
  if (is_backward) std::reverse(lines->begin(), lines->end());
  json::array logs;
  for (const sessions::SessionLine& line : *lines) {
    const auto at = static_cast<std::uint64_t>(line.at_ms);
    const bool is_wanted = is_backward ? at <= cursor : at >= cursor;
    if (is_wanted && logs.size() < limit) logs.push_back(log_entry_json(line));
  }
  const json::object body{{"logs", std::move(logs)}};
  co_return Response::json(json::serialize(body));
}

}  // namespace glovebox::e2b
