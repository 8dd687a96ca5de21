// What E2B's clients ask of a sandbox's figures and of its log.
#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "dialects/e2b/handlers.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/control/sandbox_lookup.h"
#include "routing/sandbox_creation.h"
#include "sessions/processes/process_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxSandboxesPerQuery = 100;  // sandboxes of one question
constexpr std::uint64_t kNoBound = 1ull << 53;

// Of all its CPUs, since the sample before.
double sampled_cpu_percent(const sessions::SessionSample& sample, const sessions::SessionSample* before, std::uint32_t cpus) {
  if (before == nullptr || sample.at_ms <= before->at_ms || sample.cpu_us < before->cpu_us)
    return 0;
  const double spent_us = static_cast<double>(sample.cpu_us - before->cpu_us);
  const double passed_us = static_cast<double>(sample.at_ms - before->at_ms) * 1000.0;
  return std::min(100.0 * spent_us / (passed_us * cpus), 100.0);
}

json::object metric_json(const sessions::SessionSample& sample, const sessions::SessionSample* before,
                         const sessions::SessionKeeper::Measured& measured) {
  const std::uint32_t cpus = cpu_count(measured.limits);
  return {{"timestamp", utc_text(sample.at_ms)},
          {"timestampUnix", sample.at_ms / 1000},
          {"cpuCount", cpus},
          {"cpuUsedPct", sampled_cpu_percent(sample, before, cpus)},
          {"memUsed", sample.memory_bytes},
          // What the kernel holds it to: the disk is memory too.
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

json::object measure_json(const sessions::SessionLine& line) {
  json::object fields{{"kind", line.kind}};
  if (line.process != 0) fields["process"] = std::to_string(line.process);
  const std::string message = to_utf8(line.message);
  return {{"timestamp", utc_text(line.at_ms)},
          {"message", message.empty() ? line.kind : message},
          {"level", level_of(line)},
          {"fields", std::move(fields)}};
}

}  // namespace

Task<Response> sandbox_metrics(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const std::uint64_t start, routing::query_number(request, "start", 0, kNoBound, 0));
  CO_TRY(const std::uint64_t end, routing::query_number(request, "end", 0, kNoBound, kNoBound));
  const std::string id = sandbox_id_of(request);
  CO_TRY_OK(co_await find_sandbox(app, caller.project, id));
  auto measured = co_await app.keeper->measure(caller.project, id);
  if (!measured) co_return fail(change_error(std::move(measured.error()), id));
  json::array metrics;
  const sessions::SessionSample* before = nullptr;
  const auto add = [&](const sessions::SessionSample& sample) {
    const auto at = static_cast<std::uint64_t>(sample.at_ms / 1000);
    if (at >= start && at <= end) metrics.push_back(metric_json(sample, before, *measured));
    before = &sample;
  };
  for (const sessions::SessionSample& sample : measured->history) add(sample);
  add(measured->now);
  co_return Response::json(json::serialize(metrics));
}

Task<Response> all_metrics(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  std::string_view rest = request.query.get("sandbox_ids");
  json::object sandboxes;
  for (std::size_t asked = 0; !rest.empty(); ++asked) {
    if (asked == kMaxSandboxesPerQuery) co_return refusal(400, "sandbox_ids: at most 100 can be asked for");
    const std::string id(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(id.size() + 1, rest.size()));
    const auto measured = co_await app.keeper->measure(caller.project, id);
    if (!measured) continue;
    sandboxes[id] = metric_json(measured->now, last_of(measured->history), *measured);
  }
  const json::object body{{"sandboxes", std::move(sandboxes)}};
  co_return Response::json(json::serialize(body));
}

Task<Response> sandbox_logs(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const std::uint64_t start, routing::query_number(request, "start", 0, kNoBound, 0));  // milliseconds
  CO_TRY(const std::uint64_t limit, routing::query_number(request, "limit", 0, kNoBound, kNoBound));
  const std::string id = sandbox_id_of(request);
  auto lines = co_await app.keeper->lines(caller.project, id, sessions::SessionEntry::kLines);
  if (!lines) co_return fail(change_error(std::move(lines.error()), id));
  json::array logs;
  json::array entries;
  for (const sessions::SessionLine& line : *lines) {
    if (static_cast<std::uint64_t>(line.at_ms) < start || logs.size() >= limit) continue;
    json::object entry = measure_json(line);
    logs.push_back(json::object{{"timestamp", entry["timestamp"]}, {"line", entry["message"]}});
    entries.push_back(std::move(entry));
  }
  const json::object body{{"logs", std::move(logs)}, {"logEntries", std::move(entries)}};
  co_return Response::json(json::serialize(body));
}

Task<Response> sandbox_logs_v2(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  const std::string_view direction = request.query.get("direction");
  const bool is_backward = direction == "backward";
  if (!direction.empty() && !is_backward && direction != "forward") {
    co_return refusal(400, "direction: must be forward or backward");
  }
  const std::uint64_t from = is_backward ? kNoBound : 0;
  CO_TRY(const std::uint64_t cursor, routing::query_number(request, "cursor", 0, kNoBound, from));
  CO_TRY(const std::uint64_t limit, routing::query_number(request, "limit", 0, kNoBound, kNoBound));
  const std::string id = sandbox_id_of(request);
  auto lines = co_await app.keeper->lines(caller.project, id, sessions::SessionEntry::kLines);
  if (!lines) co_return fail(change_error(std::move(lines.error()), id));
  if (is_backward) std::reverse(lines->begin(), lines->end());
  json::array logs;
  for (const sessions::SessionLine& line : *lines) {
    const auto at = static_cast<std::uint64_t>(line.at_ms);
    const bool is_wanted = is_backward ? at <= cursor : at >= cursor;
    if (is_wanted && logs.size() < limit) logs.push_back(measure_json(line));
  }
  const json::object body{{"logs", std::move(logs)}};
  co_return Response::json(json::serialize(body));
}

}  // namespace glovebox::e2b
