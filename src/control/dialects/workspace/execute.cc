// /workspace/se/execute_code: a cell in the session's Python context, whose state lasts.
// /workspace/se/execute: a command, by POST /v1/sandboxes/{id}/exec.
#include <boost/json.hpp>
#include <utility>

#include "control/cell_answer.h"
#include "control/contexts.h"
#include "control/dialects/workspace/client_session.h"
#include "control/dialects/workspace/handlers.h"
#include "control/dialects/workspace/requests.h"
#include "control/large_answer.h"
#include "control/routes/handlers.h"
#include "control/run_output.h"
#include "control/run_refusal.h"

namespace glovebox::control::workspace {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::uint64_t kVariablesLimit = 0;  // what is printed on the way is nobody's
constexpr milliseconds kVariablesTime{10'000};

// The variables that were asked for, as far as there are such and JSON can say them.
asio::awaitable<json::value> variables(App& app, std::shared_ptr<ContextTable> table,
                                       std::shared_ptr<Context> context,
                                       std::vector<std::string> names) {
  CellRequest cell;
  cell.code =
      "__import__('json').loads(__import__('json').dumps({name: globals()[name] for name in [";
  for (const std::string& name : names) cell.code += "'" + name + "', ";
  cell.code += "] if name in globals()}, default=str))";
  cell.timeout = kVariablesTime;
  cell.output_limit = kVariablesLimit;
  KeepingSink sink(app.held_output);
  auto nobody = std::make_shared<node::CancelFlag>();
  const auto report = co_await table->run(context, std::move(cell), sink, nobody);
  if (!report) co_return json::object();
  CellValue value = cell_value(*report);
  co_return value.result.is_object() ? std::move(value.result) : json::value(json::object());
}

json::object exit_object(const CellReport& report) {
  const Outcome& outcome = report.outcome;
  return {{"exit_code", outcome.exit_code},
          {"timed_out", outcome.timed_out},
          {"oom_killed", outcome.oom_killed},
          {"truncated", outcome.truncated},
          {"restarted", report.restarted},
          {"metrics",
           {{"duration_ms", static_cast<double>(outcome.wall.count()) / 1000.0},
            {"queue_ms", static_cast<double>(report.queued.count()) / 1000.0},
            {"output_bytes", outcome.output_bytes}}}};
}

Task<Response> run_python(App& app, Request& request, std::shared_ptr<node::Session> session,
                          CodeRequest code, milliseconds otherwise) {
  const auto table = app.contexts.of(session);
  CO_TRY(const auto context, co_await table->default_of(Language::kPython));
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  CellRequest cell;
  cell.code = std::move(code.code);
  cell.stdin_text = std::move(code.stdin_text);
  cell.timeout = code.timeout.value_or(otherwise);
  KeepingSink sink(app.held_output);
  auto report = co_await table->run(context, std::move(cell), sink, cancel);
  if (cancel->cancelled()) {
    co_return refuse_gone_client();
  }
  if (!report) co_return fail(std::move(report.error()));
  report->outcome.truncated = report->outcome.truncated || sink.truncated();
  json::object end = exit_object(*report);
  CellValue value = cell_value(*report);
  end["error"] = std::move(value.error);
  if (!code.output_params) {
    end["result"] = std::move(value.result);
  } else if (!code.output_params->empty()) {
    end["output_variables"] =
        co_await variables(app, table, context, std::move(*code.output_params));
  }
  std::string text = json::serialize(end) + "\n";
  Outcome outcome = std::move(report->outcome);
  outcome.out = std::move(sink.out);
  outcome.err = std::move(sink.err);
  std::string body = co_await with_output(app, std::move(text), std::move(outcome));
  co_return held_answer(app, std::move(body));
}

}  // namespace

Task<Response> execute_code(App& app, Request& request, ResponseWriter& writer) {
  CO_TRY(const ClientSession session, client_session(app, request));
  CO_TRY(CodeRequest code, parse_code(request.body, app.settings.workspace.timeout));
  CO_TRY(const store::SessionRecord record, find_record(app, session));
  const milliseconds otherwise = timeout_of(app, record);
  if (code.shell) {
    request.body = translate_script(code, otherwise);
    send_on(request, record);
    co_return co_await routes::post_exec(app, request, writer);
  }
  request.body = std::string();  // it can be large
  CO_TRY(const auto there, app.sessions.use(session.caller.project, record.id.str()));
  co_return co_await run_python(app, request, there, std::move(code), otherwise);
}

Task<Response> execute_command(App& app, Request& request, ResponseWriter& writer) {
  CO_TRY(const ClientSession session, client_session(app, request));
  // What is wrong with a request is said before what is not there.
  CO_TRY_OK(translate_command(request.body, app.settings.workspace.timeout, milliseconds(1)));
  CO_TRY(const store::SessionRecord record, find_record(app, session));
  CO_TRY(request.body,
         translate_command(request.body, app.settings.workspace.timeout, timeout_of(app, record)));
  send_on(request, record);
  co_return co_await routes::post_exec(app, request, writer);
}

}  // namespace glovebox::control::workspace
