#include "api/routes/sandboxes/code_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "api/run_responder.h"
#include "routing/large_requests.h"
#include "routing/refusals.h"
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

// Runs the cell and answers it, in either form.
Task<Response> run_cell(const CodeRoutes::Dependencies& deps, Request& request,
                        RunResponder& responder, std::shared_ptr<sessions::ContextTable> table,
                        std::shared_ptr<sessions::Context> context, sessions::CellRequest cell) {
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  auto report = co_await table->run(context, std::move(cell), responder.sink(), cancel);
  if (cancel->cancelled() && !responder.begun()) co_return routing::refuse_gone_client();
  if (!report && !responder.begun()) co_return fail(std::move(report.error()));
  if (!report) {
    Response refusal = Response::from_error(report.error());
    std::string data = routing::error_event_json(refusal, report.error().message(), request.id);
    co_return co_await responder.refuse(std::move(refusal), std::move(data));
  }
  responder.take_output(report->outcome);
  const sessions::CellAnswer about = about_cell(request, *context);
  std::string end = sessions::cell_exit_json(about, *report);
  if (!responder.is_whole()) {
    std::string nothing;
    co_return co_await responder.finish(std::move(end), std::move(nothing));
  }
  std::string body = co_await deps.responses.with_output(request.owner, std::move(end),
                                                         std::move(report->outcome));
  co_return deps.responses.respond(request.owner, std::move(body));
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
  routing::AnswerForm form = routing::answer_form(request);
  if (form == routing::AnswerForm::kJson && code.stream) form = routing::AnswerForm::kLines;
  const auto responder = make_responder(form, deps_.memory_budget, request.owner, writer);
  co_return co_await run_cell(deps_, request, *responder, table, context, std::move(code.cell));
}

}  // namespace glovebox::api
