#include "dialects/mcp/code_tools.h"

#include <boost/json.hpp>
#include <csignal>
#include <utility>

#include "base/wall_clock.h"
#include "dialects/mcp/content.h"
#include "sessions/processes/collect_output.h"
#include "sessions/processes/exec_request.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/user_environment.h"
#include "wire/guest/cell.h"
#include "wire/guest/guest_frames.h"
#include "wire/json/request_fields.h"
#include "wire/network/net_refusals.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;

// Output beyond this is dropped unread; a result has far less.
constexpr std::uint64_t kMaxPrinted = 64ull << 20;
constexpr std::size_t kMaxCode = wire::kMaxCellBytes / 2 - 8192;

struct CodeArguments {
  std::string code;
  sessions::Language language = sessions::Language::kPython;
  std::chrono::milliseconds timeout{0};
};

Result<CodeArguments> read_code_arguments(const Settings& settings, const json::value& arguments) {
  CodeArguments wanted;
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(arguments, ""));
  TRY(auto code, fields.text("code", kMaxCode));
  if (!code) return fields.bad("code", "is missing");
  TRY_OK(wire::check_no_nul(*code, "code"));
  wanted.code = std::move(*code);
  TRY(const auto language, fields.text("language", 32));
  if (language) {
    const auto parsed = sessions::parse_language(*language);
    if (!parsed) return fields.bad("language", "must be " + sessions::language_list());
    wanted.language = *parsed;
  }
  TRY(wanted.timeout, read_timeout(settings, fields));
  TRY_OK(fields.finish());
  return wanted;
}

struct CommandArguments {
  sessions::ExecRequest exec;
  std::string stdin_text;
};

Result<CommandArguments> read_command_arguments(const Settings& settings,
                                                const json::value& arguments) {
  CommandArguments wanted;
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(arguments, ""));
  TRY(auto command, fields.text("command", wire::kMaxExecBytes - 32 * 1024));
  if (!command || command->empty()) return fields.bad("command", "is missing");
  TRY_OK(wire::check_no_nul(*command, "command"));
  wanted.exec.cmd = std::move(*command);
  TRY(auto cwd, wire::read_directory(fields, "cwd"));
  wanted.exec.cwd = cwd ? std::move(*cwd) : sessions::home_of(wanted.exec.user);
  TRY(auto given, fields.text("stdin", std::size_t{8} << 20));
  if (given) {
    wanted.stdin_text = std::move(*given);
    wanted.exec.stdin_bytes = std::string();  // only that there is some
  }
  TRY(wanted.exec.timeout, read_timeout(settings, fields));
  TRY_OK(fields.finish());
  return wanted;
}

ToolResult command_result(const sessions::CollectedOutput& all, const CallSink& sink,
                          std::size_t limit) {
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
  if (outcome.timed_out) end += ": timed out and was killed";
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

// Kills a command when its call is cancelled, from now until this goes away.
class KillOnCancel {
 public:
  KillOnCancel(std::shared_ptr<node::CancelFlag> cancel, std::shared_ptr<node::Session> session,
               wire::ProcessNumber number)
      : cancel_(std::move(cancel)) {
    if (cancel_->cancelled()) (void)session->signal(number, SIGKILL, true);
    cancel_->on_cancel(
        [session = std::move(session), number] { (void)session->signal(number, SIGKILL, true); });
  }
  ~KillOnCancel() { cancel_->on_cancel({}); }
  KillOnCancel(const KillOnCancel&) = delete;
  KillOnCancel& operator=(const KillOnCancel&) = delete;

 private:
  std::shared_ptr<node::CancelFlag> cancel_;
};

}  // namespace

asio::awaitable<void> CodeTools::add_refusals(ToolResult& result, const ToolCall& call,
                                              std::string sandbox, std::int64_t began_ms) {
  if (!result.is_error) co_return;
  std::string project = call.caller.project;
  const auto reach = co_await deps_.networks.read(std::move(project), std::move(sandbox));
  if (!reach) co_return;  // the result is good without it
  std::vector<std::string> messages;
  for (wire::NetRefusal& one : wire::refusals_of(reach->figures.decisions)) {
    if (one.last_ms >= began_ms) messages.push_back(std::move(one.message));
  }
  std::string line = wire::refusals_line(messages);
  if (!line.empty()) result.content.push_back(text_block(std::move(line)));
}

Task<ToolResult> CodeTools::run_code(ToolCall& call) {
  CO_TRY(CodeArguments wanted, read_code_arguments(settings_, call.arguments));
  CO_TRY(const auto session,
         co_await deps_.sandboxes.enter(call.request, call.caller, call.conversation, call.cancel));
  const auto table = deps_.contexts.of(session);
  CO_TRY(const auto context, co_await table->default_of(wanted.language));
  sessions::CellRequest cell;
  cell.code = std::move(wanted.code);
  cell.timeout = wanted.timeout;
  cell.output_limit = kMaxPrinted;
  cell.rich = true;  // as in a notebook: display(), and a traceback only once
  CallSink sink(settings_.max_output, deps_.memory_budget, call.caller.project, call.stream);
  const std::int64_t began_ms = wall_clock_ms();
  CO_TRY(const sessions::CellReport report,
         co_await table->run(context, std::move(cell), sink, call.cancel));
  ToolResult result;
  result.content = cell_content(report, sink, settings_.max_output);
  result.is_error = has_failed(report);
  co_await add_refusals(result, call, session->id().str(), began_ms);
  co_return result;
}

Task<ToolResult> CodeTools::run_command(ToolCall& call) {
  using Clock = std::chrono::steady_clock;
  CO_TRY(CommandArguments wanted, read_command_arguments(settings_, call.arguments));
  CO_TRY(const auto session,
         co_await deps_.sandboxes.enter(call.request, call.caller, call.conversation, call.cancel));
  std::optional<std::string> given;
  if (wanted.exec.stdin_bytes) given = std::move(wanted.stdin_text);
  CO_TRY(std::shared_ptr<void> claim, deps_.processes.claim_stdin(call.caller.project, given));
  const auto began = Clock::now();
  const std::int64_t began_ms = wall_clock_ms();
  const auto deadline = sessions::deadline_of(wanted.exec, settings_.timeout);
  CO_TRY(node::Session::Started started,
         co_await deps_.processes.start_exec(session, std::move(wanted.exec),
                                             sessions::ExecKind::kCollect));
  const wire::ProcessNumber number = started.info.number;
  if (given) deps_.processes.feed_stdin(session, number, std::move(*given), std::move(claim));
  const KillOnCancel killer(call.cancel, session, number);
  CallSink sink(settings_.max_output, deps_.memory_budget, call.caller.project, call.stream);
  auto all = co_await sessions::collect_output(std::move(started.attachment), session, sink,
                                               deadline, kMaxPrinted);
  if (!all) co_return fail(std::move(all.error()));
  Outcome& outcome = all->outcome;
  outcome.wall = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
  outcome.exit_code = outcome.timed_out ? kExitTimeout : sessions::exit_code_of(all->end);
  (void)session->forget(number);
  deps_.sessions.note(session->id(), "exit", "status " + std::to_string(outcome.exit_code), number);
  if (!call.cancel->cancelled()) {
    outcome.oom_killed = co_await deps_.oom_kills.was_killed(session->id(), number, all->end);
  }
  ToolResult result = command_result(*all, sink, settings_.max_output);
  co_await add_refusals(result, call, session->id().str(), began_ms);
  co_return result;
}

}  // namespace glovebox::mcp
