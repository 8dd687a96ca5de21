// GET /v1/sandboxes/{id}/metrics and …/logs: what a sandbox uses, and what happened in it.
#include <boost/json.hpp>
#include <utility>

#include "api/handlers.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "routing/authentication.h"
#include "sessions/processes/process_json.h"
#include "sessions/session_keeper.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;

json::object sample_json(const sessions::SessionSample& sample) {
  return {{"at", utc_text(sample.at_ms)},
          {"cpu_us", sample.cpu_us},
          {"memory_bytes", sample.memory_bytes},
          {"disk_bytes", sample.disk_bytes},
          {"processes", sample.processes}};
}

json::object now_json(const sessions::SessionKeeper::Measured& measured) {
  json::object now = sample_json(measured.now);
  const auto& peak = measured.usage.peak_memory_bytes;
  now["peak_memory_bytes"] = peak ? json::value(*peak) : json::value(nullptr);
  // What the kernel holds it to: the disk is memory too.
  now["memory_limit_bytes"] = measured.limits.memory_bytes + measured.limits.disk_bytes;
  now["disk_limit_bytes"] = measured.usage.disk_limit_bytes;
  now["processes_limit"] = measured.limits.pids;
  now["oom_kills"] = measured.usage.oom_kills;
  return now;
}

}  // namespace

Task<Response> sandbox_metrics(routing::App& app, Request& request, ResponseWriter&) {
  const auto who = routing::principal_of(app, request);
  if (!who) co_return *refuse(app, request, routing::Access::kKey);
  CO_TRY(const std::string project, routing::project_of(*who, request));
  std::string id(request.param("id"));
  CO_TRY(const auto measured, co_await app.keeper->measure(project, std::move(id)));
  json::array history;
  for (const sessions::SessionSample& sample : measured.history) history.push_back(sample_json(sample));
  const json::object body{{"now", now_json(measured)}, {"history", std::move(history)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> sandbox_logs(routing::App& app, Request& request, ResponseWriter&) {
  const auto who = routing::principal_of(app, request);
  if (!who) co_return *refuse(app, request, routing::Access::kKey);
  CO_TRY(const std::string project, routing::project_of(*who, request));
  CO_TRY(const std::uint64_t limit,
         routing::query_number(request, "limit", 1, sessions::SessionEntry::kLines, sessions::SessionEntry::kLines));
  std::string id(request.param("id"));
  CO_TRY(const std::vector<sessions::SessionLine> lines,
         co_await app.keeper->lines(project, std::move(id), limit));
  json::array entries;
  for (const sessions::SessionLine& line : lines) {
    entries.push_back({{"at", utc_text(line.at_ms)},
                       {"kind", line.kind},
                       {"message", to_utf8(line.message)},
                       {"process", line.process != 0 ? json::value(line.process) : nullptr}});
  }
  const json::object body{{"entries", std::move(entries)}};
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
