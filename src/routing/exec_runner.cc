#include "routing/exec_runner.h"

#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "routing/refusals.h"
#include "routing/run_output.h"
#include "sessions/processes/collect_output.h"
#include "sessions/processes/process_json.h"

namespace glovebox::routing {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kDefaultExecTimeout{60'000};

std::string exec_metrics_json(const sessions::CollectedOutput& all) {
  char text[160];
  std::snprintf(text, sizeof text,
                "{\"wall_ms\":%.3f,\"cpu_ms\":%.3f,\"peak_memory_mb\":%.2f,\"output_bytes\":%llu}",
                static_cast<double>(all.outcome.wall.count()) / 1000.0,
                static_cast<double>(all.end.cpu_us) / 1000.0,
                static_cast<double>(all.end.max_rss_bytes) / (1024.0 * 1024.0),
                static_cast<unsigned long long>(all.outcome.output_bytes));
  return text;
}

std::string exec_exit_json(const node::ProcessInfo& process, const sessions::CollectedOutput& all) {
  const Outcome& outcome = all.outcome;
  json::object object{{"process", process.number},      {"pid", process.pid},
                      {"exit_code", outcome.exit_code}, {"signal", nullptr},
                      {"timed_out", outcome.timed_out}, {"oom_killed", outcome.oom_killed},
                      {"truncated", outcome.truncated}};
  if (outcome.signal != 0) object["signal"] = outcome.signal;
  std::string text = json::serialize(object);
  text.pop_back();
  return text + ",\"metrics\":" + exec_metrics_json(all) + "}\n";
}

}  // namespace

Task<http::Response> ExecRunner::run(http::Request& request, std::shared_ptr<node::Session> session,
                                     sessions::ExecRequest exec) {
  using Clock = std::chrono::steady_clock;
  auto given = std::move(exec.stdin_bytes);
  if (given) exec.stdin_bytes = std::string();  // marks that there is input
  CO_TRY(std::shared_ptr<void> claim, deps_.processes.claim_stdin(request.owner, given));
  const std::uint64_t limit = exec.output_bytes;
  const auto began = Clock::now();
  const auto deadline = sessions::deadline_of(exec, kDefaultExecTimeout);
  const bool has_terminal = exec.terminal.has_value();
  CO_TRY(
      node::Session::Started started,
      co_await deps_.processes.start_exec(session, std::move(exec), sessions::ExecKind::kCollect));
  const node::ProcessInfo process = started.info;
  if (given || has_terminal) {
    deps_.processes.feed_stdin(session, process.number, std::move(given).value_or(std::string()),
                               std::move(claim));
  }
  request.on_disconnect(
      [session, number = process.number] { (void)session->signal(number, SIGKILL, true); });
  KeepingSink sink(deps_.memory_budget, request.owner);
  auto all = co_await sessions::collect_output(std::move(started.attachment), session, sink,
                                               deadline, limit);
  if (!all) co_return fail(std::move(all.error()));
  Outcome& outcome = all->outcome;
  outcome.wall = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
  outcome.exit_code = outcome.timed_out ? kExitTimeout : sessions::exit_code_of(all->end);
  outcome.signal = outcome.timed_out ? 0 : all->end.signal;
  outcome.truncated = outcome.truncated || sink.truncated();
  (void)session->forget(process.number);
  deps_.sessions.note(session->id(), "exit", "status " + std::to_string(outcome.exit_code),
                      process.number);
  if (request.disconnected()) co_return refuse_gone_client();
  outcome.oom_killed = co_await deps_.oom_kills.was_killed(session->id(), process.number, all->end);
  if (outcome.oom_killed) {
    deps_.sessions.note(session->id(), "oom", "the memory limit was reached", process.number);
  }
  std::string end = exec_exit_json(process, *all);
  outcome.out = std::move(sink.out);
  outcome.err = std::move(sink.err);
  std::string body =
      co_await deps_.responses.with_output(request.owner, std::move(end), std::move(outcome));
  co_return deps_.responses.respond(request.owner, std::move(body));
}

}  // namespace glovebox::routing
