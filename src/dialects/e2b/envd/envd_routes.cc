// What E2B's daemon tells of its sandbox: whether it is alive, what it uses, its environment.
#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "dialects/e2b/handlers.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "sessions/session_keeper.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

// Of all its CPUs, since the sample before; the first knows of none.
double measured_cpu_percent(const sessions::SessionKeeper::Measured& measured, std::uint32_t cpus) {
  if (measured.history.empty()) return 0;
  const sessions::SessionSample& before = measured.history.back();
  const sessions::SessionSample& now = measured.now;
  if (now.at_ms <= before.at_ms || now.cpu_us < before.cpu_us) return 0;
  const auto passed_us = static_cast<double>(now.at_ms - before.at_ms) * 1000.0;
  const auto spent_us = static_cast<double>(now.cpu_us - before.cpu_us);
  return std::min(100.0 * spent_us / (passed_us * cpus), 100.0);
}

}  // namespace

Task<Response> envd_health(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNotAsked);
  if (gate.refusal) co_return *gate.refusal;
  co_return Response::empty(204);
}

Task<Response> envd_metrics(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  std::string id(request.param("id"));
  const auto measured = co_await app.keeper->measure("*", std::move(id));
  if (!measured) co_return refusal(measured.error());
  const Limits& limits = measured->limits;
  const sessions::SessionSample& now = measured->now;
  const std::uint32_t cpus = cpu_count(limits);
  // What the kernel holds it to: the disk is memory too.
  const std::uint64_t total = limits.memory_bytes + limits.disk_bytes;
  json::object body{{"ts", wall_clock_ms() / 1000},
                    {"cpu_count", cpus},
                    {"cpu_used_pct", measured_cpu_percent(*measured, cpus)},
                    {"mem_total", total},
                    {"mem_used", now.memory_bytes},
                    {"mem_cache", 0},
                    {"mem_total_mib", total / kMebibyte},
                    {"mem_used_mib", now.memory_bytes / kMebibyte},
                    {"disk_used", now.disk_bytes},
                    {"disk_total", measured->usage.disk_limit_bytes}};
  co_return Response::json(json::serialize(body));
}

Task<Response> envd_envs(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  json::object body;
  for (const std::string& pair : app.sessions.environment(gate.session->id())) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) continue;
    body[to_utf8(pair.substr(0, equals))] = to_utf8(pair.substr(equals + 1));
  }
  co_return Response::json(json::serialize(body));
}

}  // namespace glovebox::e2b
