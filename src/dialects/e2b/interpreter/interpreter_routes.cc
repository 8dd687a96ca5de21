#include "dialects/e2b/interpreter/interpreter_routes.h"

#include <cerrno>
#include <utility>

#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/process_json.h"
#include "dialects/e2b/interpreter/interpreter_json.h"
#include "dialects/e2b/interpreter/interpreter_stream.h"
#include "http/router.h"
#include "routing/large_requests.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;

constexpr std::string_view kExecutePattern = "/execute";
constexpr std::uint64_t kMaxExecutionOutput = 16ull << 20;  // the maximum of /v1

Response ascii_response(const json::value& value) { return Response::json(ascii_json(value)); }

// The context of an execution, created if it is a default one; null: no context has that id.
Task<std::shared_ptr<sessions::Context>> execution_context(
    std::shared_ptr<sessions::ContextTable> table, std::optional<std::string> id,
    sessions::Language language) {
  if (id) {
    if (auto known = table->find(*id)) co_return known;
    const auto default_of_id = default_language(*id);
    if (!default_of_id) co_return std::shared_ptr<sessions::Context>();
    language = *default_of_id;
  }
  std::vector<std::string> env = sandbox_variables(*table->session());
  co_return co_await table->default_of(language, std::move(env));
}

bool is_roots_own(const std::string& directory) {
  return (directory == "/root" || directory.starts_with("/root/")) &&
         directory.find("..") == std::string::npos;
}

// As with files, root does what the user may not do: a context in root's own directory is root's.
// No other directory, whatever its mode: clients send no token here, and the user could make root's
// interpreter start among files of the user's own.
asio::awaitable<std::string> user_who_enters(std::shared_ptr<node::Session> session,
                                             std::string directory) {
  if (!is_roots_own(directory)) co_return "user";
  wire::FileRequest stat = file_request(wire::FileOp::kStat, "user", directory + "/.");
  const auto entered = co_await session->file(std::move(stat));
  const bool is_denied = !entered && entered.error().sys_errno() == EACCES;
  co_return is_denied ? "root" : "user";
}

// After the output and results of the code: how it ended, where that is an error.
asio::awaitable<void> send_outcome(ExecutionStream& stream, const sessions::CellReport& report) {
  if (report.outcome.truncated) {
    constexpr std::string_view kNote =
        "\n[some of the output or of the results was too large and was dropped]\n";
    co_await stream.on_output(true, kNote);
  }
  if (!report.died.empty()) {
    co_await stream.error("ContextDied", report.died + "; the context is new and empty");
  } else if (report.outcome.exit_code != 0 && !stream.has_error()) {
    co_await stream.error("ExitCode",
                          "ended with exit code " + std::to_string(report.outcome.exit_code));
  }
}

}  // namespace

std::span<const routing::RouteRow<InterpreterRoutes>> InterpreterRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<InterpreterRoutes> kRows[] = {
      {Method::kPost, kExecutePattern, Access::kOpen, &InterpreterRoutes::execute,
       "Run code in a context", http::kDefaultBodyLimit},
      {Method::kPost, "/contexts", Access::kOpen, &InterpreterRoutes::create_context,
       "Create a code context"},
      {Method::kGet, "/contexts", Access::kOpen, &InterpreterRoutes::list_contexts,
       "List the code contexts of a sandbox", 0},
      {Method::kPost, "/contexts/{context}/restart", Access::kOpen,
       &InterpreterRoutes::restart_context, "Restart a code context"},
      {Method::kDelete, "/contexts/{context}", Access::kOpen, &InterpreterRoutes::delete_context,
       "End a code context", 0},
      {Method::kGet, "/health", Access::kOpen, &InterpreterRoutes::health,
       "Is the interpreter alive?", 0},
  };
  return kRows;
}

AccessToken InterpreterRoutes::token_for(const Request& request) {
  return request.route == kExecutePattern ? AccessToken::kRequired : AccessToken::kOptional;
}

bool InterpreterRoutes::has_ended(const node::Session& session,
                                  const Result<sessions::CellReport>& report) const {
  if (!session.alive()) return true;
  const bool is_alive = report && report->died.empty();
  return !is_alive && deps_.sessions.port_access(session.id().str()).session == nullptr;
}

Task<Response> InterpreterRoutes::refuse_language(ResponseWriter& writer, std::string why) {
  ExecutionStream stream(deps_.io, writer);
  co_await stream.begin();
  co_await stream.number(1);
  co_await stream.error("UnsupportedLanguage", std::move(why));
  co_await stream.stop_keepalive();
  co_await stream.finish();
  co_return Response::streamed();
}

asio::awaitable<InterpreterRoutes::Found> InterpreterRoutes::find_context(const Request& request) {
  Found found;
  AgentAccess::Admission admission =
      co_await deps_.access.admit_to_interpreter(request, AccessToken::kOptional);
  if (admission.refusal) {
    found.refusal = std::move(admission.refusal);
    co_return found;
  }
  const std::string_view id = request.param("context");
  found.table = deps_.contexts.of(admission.session);
  found.context = found.table->find(id);
  if (found.context == nullptr && !default_language(id)) found.refusal = no_such_context(id);
  co_return found;
}

Task<Response> InterpreterRoutes::execute(Request& request, ResponseWriter& writer) {
  AgentAccess::Admission admission =
      co_await deps_.access.admit_to_interpreter(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  auto wanted = co_await routing::parse_body(deps_.worker, request, read_execute);
  if (!wanted) co_return plain_refusal(400, wanted.error().message());
  request.body = std::string();  // it can be large
  const auto language = read_language(wanted->language.value_or("python"));
  if (!language) co_return plain_refusal(400, language_refusal(*wanted->language));
  const auto table = deps_.contexts.of(admission.session);
  auto context = co_await execution_context(table, wanted->context, *language);
  if (!context && context.error().code() == Errc::kUnsupported) {
    co_return co_await refuse_language(writer, context.error().message());
  }
  if (!context) co_return plain_refusal(context.error());
  if (*context == nullptr) co_return no_such_context(*wanted->context);

  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  ExecutionStream stream(deps_.io, writer);
  co_await stream.begin();
  sessions::CellRequest cell;
  cell.code = std::move(wanted->code);
  cell.env = std::move(wanted->env);
  cell.rich = true;
  cell.output_limit = kMaxExecutionOutput;
  cell.on_turn = [&stream](std::uint64_t number) { return stream.number(number); };
  auto report = co_await table->run(*context, std::move(cell), stream, cancel);
  const bool is_cancelled = cancel->cancelled() || has_ended(*admission.session, report);
  if (report && !is_cancelled) co_await send_outcome(stream, *report);
  if (!report && !is_cancelled) co_await stream.error("ContextError", report.error().message());
  co_await stream.stop_keepalive();
  // The client is gone, or the sandbox has ended, which clients recognize by the broken stream.
  if (is_cancelled) co_return fail(Errc::kUnavailable, "the execution was cancelled");
  co_await stream.finish();
  co_return Response::streamed();
}

Task<Response> InterpreterRoutes::create_context(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission =
      co_await deps_.access.admit_to_interpreter(request, AccessToken::kOptional);
  if (admission.refusal) co_return std::move(*admission.refusal);
  auto wanted = read_context(request.body);
  if (!wanted) co_return plain_refusal(400, wanted.error().message());
  const auto language = read_language(wanted->language);
  if (!language) co_return plain_refusal(400, language_refusal(wanted->language));
  const auto table = deps_.contexts.of(admission.session);
  sessions::ContextSpec spec;
  spec.language = *language;
  spec.user = co_await user_who_enters(admission.session, wanted->cwd);
  spec.cwd = std::move(wanted->cwd);
  spec.has_user = spec.has_cwd = true;
  spec.env = sandbox_variables(*admission.session);
  auto context = co_await table->create(std::move(spec));
  if (!context) co_return plain_refusal(context.error());
  const sessions::Context& made = **context;
  co_return ascii_response(context_json(made.id, made.spec.language, made.spec.cwd));
}

Task<Response> InterpreterRoutes::list_contexts(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission =
      co_await deps_.access.admit_to_interpreter(request, AccessToken::kOptional);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const auto table = deps_.contexts.of(admission.session);
  co_return ascii_response(contexts_json(*table));
}

Task<Response> InterpreterRoutes::restart_context(Request& request, ResponseWriter&) {
  Found found = co_await find_context(request);
  if (found.refusal) co_return std::move(*found.refusal);
  if (found.context != nullptr) {
    const auto restarted = co_await found.table->restart(found.context);
    if (!restarted) co_return plain_refusal(restarted.error());
  }
  co_return Response::json("null");
}

Task<Response> InterpreterRoutes::delete_context(Request& request, ResponseWriter&) {
  Found found = co_await find_context(request);
  if (found.refusal) co_return std::move(*found.refusal);
  if (found.context != nullptr) {
    const auto removed = co_await found.table->remove(found.context);
    if (!removed) co_return plain_refusal(removed.error());
  }
  co_return Response::json("null");
}

Task<Response> InterpreterRoutes::health(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission =
      co_await deps_.access.admit_to_interpreter(request, AccessToken::kOptional);
  if (admission.refusal) co_return std::move(*admission.refusal);
  co_return Response::json("\"OK\"");
}

}  // namespace glovebox::e2b
