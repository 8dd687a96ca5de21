#include "dialects/workspace/execute_routes.h"

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "routing/large_requests.h"
#include "routing/refusals.h"
#include "routing/run_output.h"
#include "sessions/contexts/cell_json.h"
#include "sessions/processes/exec_request.h"
#include "sessions/session_lifecycle.h"

namespace glovebox::workspace {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::uint64_t kVariablesOutput = 0;  // what is printed meanwhile is dropped
constexpr milliseconds kVariablesTimeout{10'000};

// The requested variables that exist, as JSON.
asio::awaitable<json::value> read_variables(MemoryBudget& memory_budget, std::string owner,
                                            std::shared_ptr<sessions::ContextTable> table,
                                            std::shared_ptr<sessions::Context> context,
                                            std::vector<std::string> names) {
  sessions::CellRequest cell;
  cell.code =
      "__import__('json').loads(__import__('json').dumps({name: globals()[name] for name in [";
  for (const std::string& name : names) cell.code += "'" + name + "', ";
  cell.code += "] if name in globals()}, default=str))";
  cell.timeout = kVariablesTimeout;
  cell.output_limit = kVariablesOutput;
  routing::KeepingSink sink(memory_budget, std::move(owner));
  const auto report =
      co_await table->run(context, std::move(cell), sink, sessions::never_cancelled());
  if (!report) co_return json::object();
  sessions::CellValue value = sessions::cell_value(*report);
  co_return value.result.is_object() ? std::move(value.result) : json::value(json::object());
}

json::object cell_end_json(const sessions::CellReport& report) {
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

}  // namespace

std::span<const routing::RouteRow<ExecuteRoutes>> ExecuteRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<ExecuteRoutes> kRows[] = {
      {Method::kPost, "/workspace/se/execute_code/{session_id}", Access::kKey,
       &ExecuteRoutes::execute_code, "Run Python code in a session", http::kDefaultBodyLimit},
      {Method::kPost, "/workspace/se/execute/{session_id}", Access::kKey,
       &ExecuteRoutes::execute_command, "Run a shell command in a session",
       http::kDefaultBodyLimit},
  };
  return kRows;
}

Task<Response> ExecuteRoutes::execute_code(Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, deps_.clients.parse(request));
  auto parse = [timeout = settings_.timeout](std::string_view body) {
    return parse_code(body, timeout);
  };
  CO_TRY(CodeRequest code, co_await routing::parse_body(deps_.worker, request, parse));
  request.body = std::string();  // it can be large
  CO_TRY(const store::SessionRecord record, deps_.clients.find(session));
  const milliseconds default_timeout = deps_.clients.default_timeout(record);
  CO_TRY(auto running, deps_.clients.use(session, record));
  if (code.shell) {
    request.body = translate_script(code, default_timeout);
    CO_TRY(sessions::ExecRequest exec,
           co_await routing::parse_body(deps_.worker, request, sessions::parse_exec_request));
    request.body = std::string();
    co_return co_await deps_.execs.run(request, std::move(running), std::move(exec));
  }
  co_return co_await run_python(request, std::move(running), std::move(code), default_timeout);
}

Task<Response> ExecuteRoutes::execute_command(Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, deps_.clients.parse(request));
  const milliseconds longest = settings_.timeout;
  // A malformed request is reported before a missing session.
  auto check = [longest](std::string_view body) {
    return translate_command(body, longest, milliseconds(1));
  };
  CO_TRY_OK(co_await routing::parse_body(deps_.worker, request, check));
  CO_TRY(const store::SessionRecord record, deps_.clients.find(session));
  const milliseconds default_timeout = deps_.clients.default_timeout(record);
  auto parse = [longest, default_timeout](std::string_view body) -> Result<sessions::ExecRequest> {
    TRY(const std::string exec, translate_command(body, longest, default_timeout));
    return sessions::parse_exec_request(exec);
  };
  CO_TRY(sessions::ExecRequest exec, co_await routing::parse_body(deps_.worker, request, parse));
  request.body = std::string();  // it can be large
  CO_TRY(auto running, deps_.clients.use(session, record));
  co_return co_await deps_.execs.run(request, std::move(running), std::move(exec));
}

Task<Response> ExecuteRoutes::run_python(Request& request, std::shared_ptr<node::Session> session,
                                         CodeRequest code, milliseconds default_timeout) {
  const auto table = deps_.contexts.of(session);
  CO_TRY(const auto context, co_await table->default_of(sessions::Language::kPython));
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  sessions::CellRequest cell;
  cell.code = std::move(code.code);
  cell.stdin_text = std::move(code.stdin_text);
  cell.timeout = code.timeout.value_or(default_timeout);
  routing::KeepingSink sink(deps_.memory_budget, request.owner);
  auto report = co_await table->run(context, std::move(cell), sink, cancel);
  if (cancel->cancelled()) co_return routing::refuse_gone_client();
  if (!report) co_return fail(std::move(report.error()));
  report->outcome.truncated = report->outcome.truncated || sink.truncated();
  json::object end = cell_end_json(*report);
  sessions::CellValue value = sessions::cell_value(*report);
  end["error"] = std::move(value.error);
  if (!code.output_params) {
    end["result"] = std::move(value.result);
  } else if (!code.output_params->empty()) {
    end["output_variables"] = co_await read_variables(deps_.memory_budget, request.owner, table,
                                                      context, std::move(*code.output_params));
  }
  std::string text = json::serialize(end) + "\n";
  Outcome outcome = std::move(report->outcome);
  outcome.out = std::move(sink.out);
  outcome.err = std::move(sink.err);
  std::string body =
      co_await deps_.responses.with_output(request.owner, std::move(text), std::move(outcome));
  co_return deps_.responses.respond(request.owner, std::move(body));
}

}  // namespace glovebox::workspace
