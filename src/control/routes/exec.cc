// POST /v1/sandboxes/{id}/exec: a command in a session, its output collected; or left running in
// the background.
#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <utility>

#include "control/exec_collect.h"
#include "control/exec_start.h"
#include "control/exec_words.h"
#include "control/large_answer.h"
#include "control/routes/handlers.h"
#include "control/run_output.h"
#include "control/run_refusal.h"
#include "control/session_of.h"
#include "wire/run_answer.h"

namespace glovebox::control::routes {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDefaultTimeout{60'000};

std::string metrics_json(const Collected& all) {
  char text[160];
  std::snprintf(text, sizeof text,
                "{\"wall_ms\":%.3f,\"cpu_ms\":%.3f,\"peak_memory_mb\":%.2f,\"output_bytes\":%llu}",
                static_cast<double>(all.outcome.wall.count()) / 1000.0,
                static_cast<double>(all.end.cpu_us) / 1000.0,
                static_cast<double>(all.end.max_rss_bytes) / (1024.0 * 1024.0),
                static_cast<unsigned long long>(all.outcome.output_bytes));
  return text;
}

std::string exit_json(const node::ProcessInfo& process, const Collected& all) {
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

Task<Response> run_in_background(App& app, std::shared_ptr<node::Session> session,
                                 ExecRequest exec) {
  auto given = std::move(exec.stdin_bytes);
  exec.stdin_bytes.reset();
  // Nobody waits for it to be read: what is held for that is small.
  constexpr std::size_t kMostInput = 1u << 20;
  if (given && given->size() > kMostInput) {
    co_return fail(Errc::kInvalidArgument,
                   "stdin: of a background program at most 1 MB; write the rest with "
                   "POST …/processes/{process}/stdin");
  }
  CO_TRY(std::shared_ptr<void> claim, claim_stdin(app, given));
  CO_TRY(node::Session::Started started,
         co_await start_exec(app, session, std::move(exec), ExecKind::kBackground));
  const wire::ProcessNumber number = started.info.number;
  if (given) feed_stdin(app, session, number, std::move(*given), std::move(claim));
  const auto process = session->find_process(number);
  co_return Response::json(json::serialize(process_json(process ? *process : started.info)) + "\n",
                           202);
}

Task<Response> run_and_collect(App& app, Request& request, std::shared_ptr<node::Session> session,
                               ExecRequest exec) {
  auto given = std::move(exec.stdin_bytes);
  if (given) exec.stdin_bytes = std::string();  // only that there is some
  CO_TRY(std::shared_ptr<void> claim, claim_stdin(app, given));
  const std::uint64_t limit = exec.output_bytes;
  const auto began = Clock::now();
  const auto deadline = deadline_of(exec, kDefaultTimeout);
  const bool has_terminal = exec.terminal.has_value();
  CO_TRY(node::Session::Started started,
         co_await start_exec(app, session, std::move(exec), ExecKind::kCollect));
  const node::ProcessInfo process = started.info;
  if (given || has_terminal) {
    feed_stdin(app, session, process.number, std::move(given).value_or(std::string()),
               std::move(claim));
  }
  request.on_disconnect(
      [session, number = process.number] { (void)session->signal(number, SIGKILL, true); });
  KeepingSink sink(app.held_output);
  auto all = co_await collect_output(std::move(started.attachment), session, sink, deadline, limit);
  if (!all) co_return fail(std::move(all.error()));
  Outcome& outcome = all->outcome;
  outcome.wall = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
  outcome.exit_code = outcome.timed_out ? kExitTimeout : exit_code_of(all->end);
  outcome.signal = outcome.timed_out ? 0 : all->end.signal;
  outcome.truncated = outcome.truncated || sink.truncated();
  (void)session->forget(process.number);
  app.sessions.note(session->id(), "exit", "status " + std::to_string(outcome.exit_code),
                    process.number);
  if (request.disconnected()) {
    co_return refuse_gone_client();
  }
  if (!outcome.timed_out) {
    outcome.oom_killed = co_await app.ooms.was_killed(session->id(), all->end);
  }
  if (outcome.oom_killed) {
    app.sessions.note(session->id(), "oom", "the memory limit was reached", process.number);
  }
  std::string end = exit_json(process, *all);
  outcome.out = std::move(sink.out);
  outcome.err = std::move(sink.err);
  std::string body = co_await with_output(app, std::move(end), std::move(outcome));
  co_return held_answer(app, std::move(body));
}

}  // namespace

Task<Response> post_exec(App& app, Request& request, ResponseWriter&) {
  CO_TRY(auto session, session_of(app, request));
  CO_TRY(ExecRequest exec, parse_exec_request(request.body));
  request.body = std::string();  // it can be large
  if (exec.background) {
    co_return co_await run_in_background(app, std::move(session), std::move(exec));
  }
  co_return co_await run_and_collect(app, request, std::move(session), std::move(exec));
}

}  // namespace glovebox::control::routes
