#include "api/exec_routes.h"

#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <utility>

#include "routing/refusals.h"
#include "routing/run_output.h"
#include "routing/sandbox_lookup.h"
#include "sessions/processes/collect_output.h"
#include "sessions/processes/process_json.h"
#include "wire/runs/run_answer.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDefaultTimeout{60'000};

std::string metrics_json(const sessions::Collected& all) {
  char text[160];
  std::snprintf(text, sizeof text,
                "{\"wall_ms\":%.3f,\"cpu_ms\":%.3f,\"peak_memory_mb\":%.2f,\"output_bytes\":%llu}",
                static_cast<double>(all.outcome.wall.count()) / 1000.0,
                static_cast<double>(all.end.cpu_us) / 1000.0,
                static_cast<double>(all.end.max_rss_bytes) / (1024.0 * 1024.0),
                static_cast<unsigned long long>(all.outcome.output_bytes));
  return text;
}

std::string exit_json(const node::ProcessInfo& process, const sessions::Collected& all) {
  const Outcome& outcome = all.outcome;
  json::object object{{"process", process.number},      {"pid", process.pid},
                      {"exit_code", outcome.exit_code}, {"signal", nullptr},
                      {"timed_out", outcome.timed_out}, {"oom_killed", outcome.oom_killed},
                      {"truncated", outcome.truncated}};
  if (outcome.signal != 0) object["signal"] = outcome.signal;
  std::string text = json::serialize(object);
  text.pop_back();
  return text + ",\"metrics\":" + metrics_json(all) + "}\n";
}

Task<Response> run_in_background(const ExecRoutes::Dependencies& deps, std::shared_ptr<node::Session> session,
                                 sessions::ExecRequest exec) {
  auto given = std::move(exec.stdin_bytes);
  exec.stdin_bytes.reset();
  // Nobody waits for it to be read: what is held for that is small.
  constexpr std::size_t kMostInput = 1u << 20;
  if (given && given->size() > kMostInput) {
    co_return fail(Errc::kInvalidArgument,
                   "stdin: of a background program at most 1 MB; write the rest with "
                   "POST …/processes/{process}/stdin");
  }
  CO_TRY(std::shared_ptr<void> claim, deps.processes.claim_stdin(given));
  CO_TRY(node::Session::Started started,
         co_await deps.processes.start_exec(session, std::move(exec), sessions::ExecKind::kBackground));
  const wire::ProcessNumber number = started.info.number;
  if (given) deps.processes.feed_stdin(session, number, std::move(*given), std::move(claim));
  const auto process = session->find_process(number);
  co_return Response::json(json::serialize(sessions::process_json(process ? *process : started.info)) + "\n",
                           202);
}

Task<Response> run_and_collect(const ExecRoutes::Dependencies& deps, Request& request, std::shared_ptr<node::Session> session,
                               sessions::ExecRequest exec) {
  auto given = std::move(exec.stdin_bytes);
  if (given) exec.stdin_bytes = std::string();  // only that there is some
  CO_TRY(std::shared_ptr<void> claim, deps.processes.claim_stdin(given));
  const std::uint64_t limit = exec.output_bytes;
  const auto began = Clock::now();
  const auto deadline = sessions::deadline_of(exec, kDefaultTimeout);
  const bool has_terminal = exec.terminal.has_value();
  CO_TRY(node::Session::Started started,
         co_await deps.processes.start_exec(session, std::move(exec), sessions::ExecKind::kCollect));
  const node::ProcessInfo process = started.info;
  if (given || has_terminal) {
    deps.processes.feed_stdin(session, process.number, std::move(given).value_or(std::string()),
               std::move(claim));
  }
  request.on_disconnect(
      [session, number = process.number] { (void)session->signal(number, SIGKILL, true); });
  routing::KeepingSink sink(deps.memory_budget);
  auto all = co_await sessions::collect_output(std::move(started.attachment), session, sink, deadline, limit);
  if (!all) co_return fail(std::move(all.error()));
  Outcome& outcome = all->outcome;
  outcome.wall = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
  outcome.exit_code = outcome.timed_out ? kExitTimeout : sessions::exit_code_of(all->end);
  outcome.signal = outcome.timed_out ? 0 : all->end.signal;
  outcome.truncated = outcome.truncated || sink.truncated();
  (void)session->forget(process.number);
  deps.sessions.note(session->id(), "exit", "status " + std::to_string(outcome.exit_code),
                    process.number);
  if (request.disconnected()) {
    co_return routing::refuse_gone_client();
  }
  if (!outcome.timed_out) {
    outcome.oom_killed = co_await deps.oom_kills.was_killed(session->id(), all->end);
  }
  if (outcome.oom_killed) {
    deps.sessions.note(session->id(), "oom", "the memory limit was reached", process.number);
  }
  std::string end = exit_json(process, *all);
  outcome.out = std::move(sink.out);
  outcome.err = std::move(sink.err);
  std::string body = co_await deps.responses.with_output(std::move(end), std::move(outcome));
  co_return deps.responses.respond(std::move(body));
}

}  // namespace

std::span<const routing::RouteRow<ExecRoutes>> ExecRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<ExecRoutes> kRows[] = {
      {Method::kPost, "/v1/sandboxes/{id}/exec", routing::Access::kKey, &ExecRoutes::post_exec, "Run a command in a sandbox", http::kDefaultBodyLimit},
  };
  return kRows;
}

Task<Response> ExecRoutes::post_exec(Request& request, ResponseWriter&) {
  CO_TRY(auto session, deps_.lookup.session_of(request));
  CO_TRY(sessions::ExecRequest exec, sessions::parse_exec_request(request.body));
  request.body = std::string();  // it can be large
  if (exec.background) {
    co_return co_await run_in_background(deps_, std::move(session), std::move(exec));
  }
  co_return co_await run_and_collect(deps_, request, std::move(session), std::move(exec));
}

}  // namespace glovebox::api
