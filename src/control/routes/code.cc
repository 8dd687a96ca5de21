// POST /v1/sandboxes/{id}/code: one cell in a context, answered whole or as live events.
#include <boost/json.hpp>
#include <utility>

#include "control/cell_answer.h"
#include "control/contexts.h"
#include "control/exec_request.h"
#include "control/large_answer.h"
#include "control/routes/handlers.h"
#include "control/run_output.h"
#include "control/run_refusal.h"
#include "control/session_of.h"
#include "http/status.h"
#include "wire/cell.h"
#include "wire/object_reader.h"
#include "wire/strict_json.h"

namespace glovebox::control::routes {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kDefaultTimeoutMs = 60'000;
constexpr std::uint64_t kMaxOutputKb = 16 * 1024;

struct CodeRequest {
  CellRequest cell;
  std::optional<std::string> context;
  std::optional<Language> language;
  bool stream = false;  // live events, as JSON lines unless Accept says how
};

Result<CodeRequest> parse_code(std::string_view body) {
  CodeRequest request;
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  // Room for the stdin's and the name's.
  constexpr std::size_t kMost = wire::kMaxCellBytes / 2 - 8192;
  TRY(auto code, fields.text("code", kMost));
  if (!code) return fields.bad("code", "is missing");
  TRY_OK(wire::check_no_nul(*code, "code"));
  request.cell.code = std::move(*code);
  TRY(request.cell.stdin_text, fields.text("stdin", kMost));
  TRY(request.context, fields.text("context", 64));
  TRY(const auto language, fields.text("language", 32));
  if (language) {
    request.language = parse_language(*language);
    if (!request.language) return fields.bad("language", "must be python, bash or javascript");
  }
  TRY(const auto timeout, fields.whole("timeout_ms", 0, kMaxTimeoutMs));
  request.cell.timeout = std::chrono::milliseconds(timeout.value_or(kDefaultTimeoutMs));
  TRY(const auto output, fields.whole("output_kb", 0, kMaxOutputKb));
  if (output) request.cell.output_limit = *output * 1024;
  TRY(const auto stream, fields.truth("stream"));
  request.stream = stream.value_or(false);
  TRY_OK(fields.finish());
  return request;
}

Task<std::shared_ptr<Context>> context_for(std::shared_ptr<ContextTable> table,
                                           const CodeRequest& request) {
  if (!request.context) {
    const Language language = request.language.value_or(Language::kPython);
    co_return co_await table->default_of(language);
  }
  auto context = table->find(*request.context);
  if (!context) co_return fail(Errc::kNotFound, "there is no such context");
  if (request.language && *request.language != context->spec.language) {
    co_return fail(Errc::kInvalidArgument, "language: the context speaks " +
                                               std::string(language_name(context->spec.language)));
  }
  co_return context;
}

CellAnswer about_cell(const Request& request, const Context& context) {
  return {request.id, context.id, std::string(language_name(context.spec.language))};
}

Response client_gone() {
  // Nobody reads it; the number is for the log.
  return refuse_gone_client();
}

Task<Response> run_and_answer(App& app, Request& request, std::shared_ptr<ContextTable> table,
                              std::shared_ptr<Context> context, CellRequest cell,
                              std::shared_ptr<node::CancelFlag> cancel) {
  KeepingSink sink(app.held_output);
  auto report = co_await table->run(context, std::move(cell), sink, cancel);
  if (cancel->cancelled()) co_return client_gone();
  if (!report) co_return fail(std::move(report.error()));
  report->outcome.truncated = report->outcome.truncated || sink.truncated();
  const CellAnswer about = about_cell(request, *context);
  std::string end = cell_exit_json(about, *report);
  Outcome outcome = std::move(report->outcome);
  outcome.out = std::move(sink.out);
  outcome.err = std::move(sink.err);
  std::string body = co_await with_output(app, std::move(end), std::move(outcome));
  co_return held_answer(app, std::move(body));
}

Task<Response> run_and_stream(Request& request, ResponseWriter& writer,
                              std::shared_ptr<ContextTable> table, std::shared_ptr<Context> context,
                              CellRequest cell, AnswerForm form,
                              std::shared_ptr<node::CancelFlag> cancel) {
  StreamingSink sink(writer, form);
  auto report = co_await table->run(context, std::move(cell), sink, cancel);
  if (!report && !sink.begun()) co_return fail(std::move(report.error()));
  std::string event = "exit";
  std::string data;
  if (report) {
    const CellAnswer about = about_cell(request, *context);
    data = cell_exit_json(about, *report);
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

Task<Response> post_code(App& app, Request& request, ResponseWriter& writer) {
  CO_TRY(const auto session, session_of(app, request));
  CO_TRY(CodeRequest code, parse_code(request.body));
  request.body = std::string();  // it can be large
  const auto table = app.contexts.of(session);
  CO_TRY(const auto context, co_await context_for(table, code));
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  AnswerForm form = answer_form(request);
  if (form == AnswerForm::kJson && code.stream) form = AnswerForm::kLines;
  if (form == AnswerForm::kJson) {
    co_return co_await run_and_answer(app, request, table, context, std::move(code.cell), cancel);
  }
  co_return co_await run_and_stream(request, writer, table, context, std::move(code.cell), form,
                                    cancel);
}

}  // namespace glovebox::control::routes
