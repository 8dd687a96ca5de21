#include "api/routes/code_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "http/status.h"
#include "routing/large_requests.h"
#include "routing/refusals.h"
#include "routing/run_output.h"
#include "routing/sandbox_lookup.h"
#include "sessions/contexts/cell_json.h"
#include "sessions/contexts/context_table.h"
#include "sessions/processes/exec_request.h"
#include "wire/guest/cell.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

constexpr std::uint64_t kDefaultTimeoutMs = 60'000;
constexpr std::uint64_t kMaxOutputKb = 16 * 1024;

struct CodeRequest {
  sessions::CellRequest cell;
  std::optional<std::string> context;
  std::optional<sessions::Language> language;
  bool stream = false;  // live events, as JSON lines unless Accept says how
};

Result<CodeRequest> parse_code(std::string_view body) {
  CodeRequest request;
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  // Leaves room for stdin and the name.
  constexpr std::size_t kMost = wire::kMaxCellBytes / 2 - 8192;
  TRY(auto code, fields.text("code", kMost));
  if (!code) return fields.bad("code", "is missing");
  TRY_OK(wire::check_no_nul(*code, "code"));
  request.cell.code = std::move(*code);
  TRY(request.cell.stdin_text, fields.text("stdin", kMost));
  TRY(request.context, fields.text("context", 64));
  TRY(const auto language, fields.text("language", 32));
  if (language) {
    request.language = sessions::parse_language(*language);
    if (!request.language) {
      return fields.bad("language", "must be " + sessions::language_list());
    }
  }
  TRY(const auto timeout, fields.whole("timeout_ms", 0, sessions::kMaxTimeoutMs));
  request.cell.timeout = std::chrono::milliseconds(timeout.value_or(kDefaultTimeoutMs));
  TRY(const auto output, fields.whole("output_kb", 0, kMaxOutputKb));
  if (output) request.cell.output_limit = *output * 1024;
  TRY(const auto stream, fields.truth("stream"));
  request.stream = stream.value_or(false);
  TRY_OK(fields.finish());
  return request;
}

Task<std::shared_ptr<sessions::Context>> context_for(std::shared_ptr<sessions::ContextTable> table,
                                                     const CodeRequest& request) {
  if (!request.context) {
    const sessions::Language language = request.language.value_or(sessions::Language::kPython);
    co_return co_await table->default_of(language);
  }
  auto context = table->find(*request.context);
  if (!context) co_return fail(Errc::kNotFound, "there is no such context");
  if (request.language && *request.language != context->spec.language) {
    co_return fail(Errc::kInvalidArgument,
                   "language: the language of this context is " +
                       std::string(sessions::language_name(context->spec.language)));
  }
  co_return context;
}

sessions::CellAnswer about_cell(const Request& request, const sessions::Context& context) {
  return {request.id, context.id, std::string(sessions::language_name(context.spec.language))};
}

Response client_gone() {
  // The client does not get this answer; the status is for the log.
  return routing::refuse_gone_client();
}

Task<Response> run_and_answer(const CodeRoutes::Dependencies& deps, Request& request,
                              std::shared_ptr<sessions::ContextTable> table,
                              std::shared_ptr<sessions::Context> context,
                              sessions::CellRequest cell,
                              std::shared_ptr<node::CancelFlag> cancel) {
  routing::KeepingSink sink(deps.memory_budget, request.owner);
  auto report = co_await table->run(context, std::move(cell), sink, cancel);
  if (cancel->cancelled()) co_return client_gone();
  if (!report) co_return fail(std::move(report.error()));
  report->outcome.truncated = report->outcome.truncated || sink.truncated();
  const sessions::CellAnswer about = about_cell(request, *context);
  std::string end = sessions::cell_exit_json(about, *report);
  Outcome outcome = std::move(report->outcome);
  outcome.out = std::move(sink.out);
  outcome.err = std::move(sink.err);
  std::string body =
      co_await deps.responses.with_output(request.owner, std::move(end), std::move(outcome));
  co_return deps.responses.respond(request.owner, std::move(body));
}

Task<Response> run_and_stream(Request& request, ResponseWriter& writer,
                              std::shared_ptr<sessions::ContextTable> table,
                              std::shared_ptr<sessions::Context> context,
                              sessions::CellRequest cell, routing::AnswerForm form,
                              std::shared_ptr<node::CancelFlag> cancel) {
  routing::StreamingSink sink(writer, form);
  auto report = co_await table->run(context, std::move(cell), sink, cancel);
  if (!report && !sink.begun()) co_return fail(std::move(report.error()));
  std::string event = "exit";
  std::string data;
  if (report) {
    const sessions::CellAnswer about = about_cell(request, *context);
    data = sessions::cell_exit_json(about, *report);
  } else {
    event = "error";
    const json::object problem{{"code", http::status_of(report.error().code()).code},
                               {"message", report.error().message()},
                               {"request_id", request.id}};
    data = json::serialize(problem);
  }
  co_await sink.finish(std::move(event), std::move(data));
  co_return Response::streamed();
}

}  // namespace

std::span<const routing::RouteRow<CodeRoutes>> CodeRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<CodeRoutes> kRows[] = {
      {Method::kPost, "/v1/sandboxes/{id}/code", routing::Access::kKey, &CodeRoutes::post_code,
       "Run code in a context", http::kDefaultBodyLimit},
  };
  return kRows;
}

Task<Response> CodeRoutes::post_code(Request& request, ResponseWriter& writer) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(CodeRequest code, co_await routing::parse_body(deps_.worker, request, parse_code));
  request.body = std::string();  // it can be large
  const auto table = deps_.contexts.of(session);
  CO_TRY(const auto context, co_await context_for(table, code));
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  routing::AnswerForm form = routing::answer_form(request);
  if (form == routing::AnswerForm::kJson && code.stream) form = routing::AnswerForm::kLines;
  if (form == routing::AnswerForm::kJson) {
    co_return co_await run_and_answer(deps_, request, table, context, std::move(code.cell), cancel);
  }
  co_return co_await run_and_stream(request, writer, table, context, std::move(code.cell), form,
                                    cancel);
}

}  // namespace glovebox::api
