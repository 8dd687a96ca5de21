// E2B's code interpreter, the virtual port 49999: contexts, and code in them as a stream of lines.
// They are the sandbox's own contexts, the same that /v1 shows.
#include <utility>

#include "dialects/e2b/handlers.h"
#include "dialects/e2b/interpreter/interpreter_stream.h"
#include "dialects/e2b/interpreter/interpreter_json.h"
#include "dialects/e2b/envd/process_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kOutputLimit = 16ull << 20;  // the most that /v1 gives

Response json_answer(const json::value& value) { return Response::json(ascii_json(value)); }

// Its context, found or made; null: there is none with that id.
Task<std::shared_ptr<sessions::Context>> context_for(std::shared_ptr<sessions::ContextTable> table,
                                           std::optional<std::string> id, sessions::Language language) {
  if (id) {
    if (auto known = table->find(*id)) co_return known;
    const auto fixed = default_language(*id);
    if (!fixed) co_return std::shared_ptr<sessions::Context>();
    language = *fixed;
  }
  std::vector<std::string> env = sandbox_variables(*table->session());
  co_return co_await table->default_of(language, std::move(env));
}

// An interpreter that dies with its sandbox may be heard of before the sandbox's own end.
bool has_ended(routing::App& app, const node::Session& session, const Result<sessions::CellReport>& report) {
  if (!session.alive()) return true;
  const bool is_well = report && report->died.empty();
  return !is_well && app.sessions.door(session.id().str()).session == nullptr;
}

// What the code said of itself has been told; this is what became of it.
asio::awaitable<void> tell_end(ExecutionStream& stream, const sessions::CellReport& report) {
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

// Languages that E2B has and we have not: an execution that failed, which says why.
Task<Response> refuse_language(routing::App& app, ResponseWriter& writer, std::string word) {
  ExecutionStream stream(app.io, writer);
  co_await stream.begin();
  co_await stream.number(1);
  co_await stream.error("UnsupportedLanguage", language_refusal(word));
  co_await stream.quiet();
  co_await stream.finish();
  co_return Response::streamed();
}

struct Found {
  std::shared_ptr<sessions::ContextTable> table;
  std::shared_ptr<sessions::Context> context;  // null with `fixed`: a default one where nothing runs yet
  bool fixed = false;
  std::optional<Response> refusal{};
};

asio::awaitable<Found> context_of(routing::App& app, const Request& request) {
  Found found;
  Gate gate = co_await enter_interpreter(app, request, Token::kNotAsked);
  if (gate.refusal) {
    found.refusal = std::move(gate.refusal);
    co_return found;
  }
  found.table = app.contexts.of(gate.session);
  found.context = found.table->find(request.param("context"));
  found.fixed = default_language(request.param("context")).has_value();
  if (found.context == nullptr && !found.fixed) {
    found.refusal = no_such_context(request.param("context"));
  }
  co_return found;
}

}  // namespace

Task<Response> interpreter_execute(routing::App& app, Request& request, ResponseWriter& writer) {
  Gate gate = co_await enter_interpreter(app, request, Token::kNeeded);
  if (gate.refusal) co_return std::move(*gate.refusal);
  auto wanted = read_execute(request.body);
  if (!wanted) co_return plain_refusal(400, wanted.error().message());
  request.body = std::string();  // it can be large
  LanguageChoice language;
  if (wanted->language) language = read_language(*wanted->language);
  if (language.kind == LanguageKind::kUnknown) {
    co_return plain_refusal(400, language_refusal(*wanted->language));
  }
  if (language.kind == LanguageKind::kNotServed) {
    co_return co_await refuse_language(app, writer, std::move(*wanted->language));
  }
  const auto table = app.contexts.of(gate.session);
  auto context = co_await context_for(table, wanted->context, language.language);
  if (!context) co_return plain_refusal(context.error());
  if (*context == nullptr) co_return no_such_context(*wanted->context);

  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  ExecutionStream stream(app.io, writer);
  co_await stream.begin();
  sessions::CellRequest cell;
  cell.code = std::move(wanted->code);
  cell.env = std::move(wanted->env);
  cell.rich = true;
  cell.output_limit = kOutputLimit;
  cell.on_turn = [&stream](std::uint64_t number) { return stream.number(number); };
  auto report = co_await table->run(*context, std::move(cell), stream, cancel);
  const bool is_cut = cancel->cancelled() || has_ended(app, *gate.session, report);
  if (report && !is_cut) co_await tell_end(stream, *report);
  if (!report && !is_cut) co_await stream.error("ContextError", report.error().message());
  co_await stream.quiet();
  // Nobody reads, or the sandbox is no more: clients know the latter by the cut.
  if (is_cut) co_return fail(Errc::kUnavailable, "the execution was given up");
  co_await stream.finish();
  co_return Response::streamed();
}

Task<Response> interpreter_create_context(routing::App& app, Request& request, ResponseWriter&) {
  Gate gate = co_await enter_interpreter(app, request, Token::kNotAsked);
  if (gate.refusal) co_return std::move(*gate.refusal);
  auto wanted = read_context(request.body);
  if (!wanted) co_return plain_refusal(400, wanted.error().message());
  const LanguageChoice language = read_language(wanted->language);
  if (language.kind != LanguageKind::kServed) {
    co_return plain_refusal(400, language_refusal(wanted->language));
  }
  const auto table = app.contexts.of(gate.session);
  sessions::ContextSpec spec;
  spec.language = language.language;
  spec.cwd = std::move(wanted->cwd);
  spec.env = sandbox_variables(*gate.session);
  auto context = co_await table->create(std::move(spec));
  if (!context) co_return plain_refusal(context.error());
  const sessions::Context& made = **context;
  co_return json_answer(context_json(made.id, made.spec.language, made.spec.cwd));
}

Task<Response> interpreter_list_contexts(routing::App& app, Request& request, ResponseWriter&) {
  Gate gate = co_await enter_interpreter(app, request, Token::kNotAsked);
  if (gate.refusal) co_return std::move(*gate.refusal);
  const auto table = app.contexts.of(gate.session);
  co_return json_answer(contexts_json(*table));
}

Task<Response> interpreter_restart_context(routing::App& app, Request& request, ResponseWriter&) {
  Found found = co_await context_of(app, request);
  if (found.refusal) co_return std::move(*found.refusal);
  if (found.context != nullptr) {
    const auto restarted = co_await found.table->restart(found.context);
    if (!restarted) co_return plain_refusal(restarted.error());
  }
  co_return Response::json("null");
}

Task<Response> interpreter_delete_context(routing::App& app, Request& request, ResponseWriter&) {
  Found found = co_await context_of(app, request);
  if (found.refusal) co_return std::move(*found.refusal);
  if (found.context != nullptr) {
    const auto removed = co_await found.table->remove(found.context);
    if (!removed) co_return plain_refusal(removed.error());
  }
  co_return Response::json("null");
}

Task<Response> interpreter_health(routing::App& app, Request& request, ResponseWriter&) {
  Gate gate = co_await enter_interpreter(app, request, Token::kNotAsked);
  if (gate.refusal) co_return std::move(*gate.refusal);
  co_return Response::json("\"OK\"");
}

}  // namespace glovebox::e2b
