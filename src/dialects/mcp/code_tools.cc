// run_code: a cell in the language's own context of the conversation's sandbox. run_command: a
// shell of its own.
#include <algorithm>
#include <boost/json.hpp>
#include <csignal>
#include <utility>

#include "dialects/mcp/content.h"
#include "dialects/mcp/sandbox.h"
#include "dialects/mcp/tools.h"
#include "sessions/contexts/context_table.h"
#include "sessions/processes/collect_output.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/start_process.h"
#include "wire/guest/cell.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

// Beyond this a cell's output is not even looked at; a result has far less.
constexpr std::uint64_t kMostPrinted = 64ull << 20;
constexpr std::size_t kMaxCode = wire::kMaxCellBytes / 2 - 8192;

struct CodeWish {
  std::string code;
  sessions::Language language = sessions::Language::kPython;
  std::chrono::milliseconds timeout{0};
};

Result<CodeWish> read_code(const routing::App& app, const json::value& arguments) {
  CodeWish wish;
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(arguments, ""));
  TRY(auto code, fields.text("code", kMaxCode));
  if (!code) return fields.bad("code", "is missing");
  TRY_OK(wire::check_no_nul(*code, "code"));
  wish.code = std::move(*code);
  TRY(const auto language, fields.text("language", 32));
  if (language) {
    const auto parsed = sessions::parse_language(*language);
    if (!parsed) return fields.bad("language", "must be python, javascript or bash");
    wish.language = *parsed;
  }
  TRY(wish.timeout, read_timeout(app, fields));
  TRY_OK(fields.finish());
  return wish;
}

struct CommandWish {
  sessions::ExecRequest exec;
  std::string given;  // on its standard input
};

Result<CommandWish> read_command(const routing::App& app, const json::value& arguments) {
  CommandWish wish;
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(arguments, ""));
  TRY(auto command, fields.text("command", wire::kMaxExecBytes - 32 * 1024));
  if (!command || command->empty()) return fields.bad("command", "is missing");
  TRY_OK(wire::check_no_nul(*command, "command"));
  wish.exec.cmd = std::move(*command);
  TRY(auto cwd, wire::read_directory(fields, "cwd"));
  wish.exec.cwd = cwd ? std::move(*cwd) : sessions::home_of(wish.exec.user);
  TRY(auto given, fields.text("stdin", std::size_t{8} << 20));
  if (given) {
    wish.given = std::move(*given);
    wish.exec.stdin_bytes = std::string();  // only that there is some
  }
  TRY(wish.exec.timeout, read_timeout(app, fields));
  TRY_OK(fields.finish());
  return wish;
}

ToolResult command_result(const sessions::Collected& all, const CallSink& sink, std::size_t limit) {
  const Outcome& outcome = all.outcome;
  TextRoom room(limit);
  bool is_out_cut = false;
  bool is_err_cut = false;
  const std::string out = sink.out.text(room.share(sink.err.total()), &is_out_cut);
  room.take(out.size());
  const std::string err = sink.err.text(room.share(0), &is_err_cut);
  ToolResult result;
  if (!out.empty()) result.content.push_back(text_block(out));
  if (!err.empty()) result.content.push_back(text_block("stderr:\n" + err));
  std::string end = "exit code " + std::to_string(outcome.exit_code);
  if (outcome.timed_out) end += ": it took too long and was killed";
  if (outcome.oom_killed) end += ": the sandbox's memory limit was reached";
  result.content.push_back(text_block(std::move(end)));
  result.structured =
      json::object{{"exit_code", outcome.exit_code},
                   {"stdout", out},
                   {"stderr", err},
                   {"timed_out", outcome.timed_out},
                   {"out_of_memory", outcome.oom_killed},
                   {"truncated", outcome.truncated || is_out_cut || is_err_cut},
                   {"duration_ms", static_cast<double>(outcome.wall.count()) / 1000.0}};
  result.is_error = outcome.exit_code != 0;
  return result;
}

}  // namespace

Task<ToolResult> run_code(ToolCall& call) {
  routing::App& app = call.app;
  CO_TRY(CodeWish wish, read_code(app, call.arguments));
  CO_TRY(const auto session,
         co_await enter_sandbox(app, call.request, call.caller, call.conversation, call.cancel));
  const auto table = app.contexts.of(session);
  CO_TRY(const auto context, co_await table->default_of(wish.language));
  sessions::CellRequest cell;
  cell.code = std::move(wish.code);
  cell.timeout = wish.timeout;
  cell.output_limit = kMostPrinted;
  cell.rich = true;  // as in a notebook: display(), and a traceback told once
  CallSink sink(app, call.stream);
  CO_TRY(const sessions::CellReport report, co_await table->run(context, std::move(cell), sink, call.cancel));
  ToolResult result;
  result.content = cell_content(report, sink, app.settings.mcp.max_output);
  result.is_error = has_failed(report);
  co_return result;
}

Task<ToolResult> run_command(ToolCall& call) {
  routing::App& app = call.app;
  CO_TRY(CommandWish wish, read_command(app, call.arguments));
  CO_TRY(const auto session,
         co_await enter_sandbox(app, call.request, call.caller, call.conversation, call.cancel));
  const bool has_stdin = wish.exec.stdin_bytes.has_value();
  const std::optional<std::string> given =
      has_stdin ? std::optional<std::string>(std::move(wish.given)) : std::nullopt;
  CO_TRY(std::shared_ptr<void> claim, sessions::claim_stdin(app, given));
  const auto began = Clock::now();
  const auto deadline = sessions::deadline_of(wish.exec, app.settings.mcp.timeout);
  CO_TRY(node::Session::Started started,
         co_await start_exec(app, session, std::move(wish.exec), sessions::ExecKind::kCollect));
  const wire::ProcessNumber number = started.info.number;
  if (given) sessions::feed_stdin(app, session, number, *given, std::move(claim));
  struct KillOnCancel {
    std::shared_ptr<node::CancelFlag> cancel;
    ~KillOnCancel() { cancel->on_cancel({}); }
  } const killer{call.cancel};
  call.cancel->on_cancel([session, number] { (void)session->signal(number, SIGKILL, true); });
  if (call.cancel->cancelled()) (void)session->signal(number, SIGKILL, true);
  CallSink sink(app, call.stream);
  auto all =
      co_await sessions::collect_output(std::move(started.attachment), session, sink, deadline, kMostPrinted);
  if (!all) co_return fail(std::move(all.error()));
  Outcome& outcome = all->outcome;
  outcome.wall = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
  outcome.exit_code = outcome.timed_out ? kExitTimeout : sessions::exit_code_of(all->end);
  (void)session->forget(number);
  app.sessions.note(session->id(), "exit", "status " + std::to_string(outcome.exit_code), number);
  if (!outcome.timed_out && !call.cancel->cancelled()) {
    outcome.oom_killed = co_await app.ooms.was_killed(session->id(), all->end);
  }
  co_return command_result(*all, sink, app.settings.mcp.max_output);
}

}  // namespace glovebox::mcp
