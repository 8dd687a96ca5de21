#include "sessions/contexts/context_interpreter.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/log.h"
#include "base/utf8.h"
#include "sessions/contexts/context_output.h"
#include "sessions/processes/image_defaults.h"
#include "sessions/processes/process_label.h"
#include "sessions/processes/signal_names.h"
#include "sessions/processes/user_environment.h"
#include "wire/guest/cell.h"
#include "wire/guest/guest_frames.h"
#include "wire/guest/guest_result.h"
#include "wire/guest/job.h"

namespace glovebox::sessions {
namespace {

using Clock = std::chrono::steady_clock;
using node::Attachment;

constexpr std::chrono::seconds kInterpreterDeadWithin{5};
constexpr std::chrono::seconds kInterruptAgain{1};
constexpr int kMoreInterrupts = 3;

// Our own runtime of TypeScript, and a Java without its compiler.
bool says_what_is_missing(std::string_view said) {
  return said.find("not installed") != std::string_view::npos ||
         said.find("Module jdk.") != std::string_view::npos;
}

std::string needs_package(const LanguageFacts& facts) {
  return "; " + std::string(facts.name) + " needs the Debian package " +
         std::string(facts.package) + " on the host";
}

// An image has its interpreters anywhere on its PATH.
void search_in_image(LanguageFacts& facts) {
  std::string& program = facts.command.front();
  program.erase(0, program.rfind('/') + 1);
}

Error start_error(const LanguageFacts& facts, const Error& error, const std::string& cwd,
                  bool is_image) {
  std::string why = "the " + std::string(facts.name) + " context cannot start: " + error.message();
  // Which step failed is in the message; the program is started last.
  const std::size_t step = why.find(wire::kEnterDirectoryStep);
  const bool is_directory = step != std::string::npos;
  if (is_directory) why.insert(step + wire::kEnterDirectoryStep.size(), " " + cwd);
  if (error.code() == Errc::kNotFound && !is_directory) {
    return Error(Errc::kUnsupported,
                 why + (is_image ? "; the image has no " + facts.command.front() + " on its PATH"
                                 : needs_package(facts)));
  }
  // The caller named a directory or user that this sandbox does not have.
  const bool theirs = error.code() == Errc::kNotFound || error.code() == Errc::kPermissionDenied;
  return Error(theirs ? Errc::kInvalidArgument : error.code(), why);
}

std::string how_interpreter_ended(const wire::ProcessEnd& end) {
  if (end.signal != 0) return "was ended by " + signal_name(end.signal);
  return "ended with exit code " + std::to_string(end.code);
}

// A separate coroutine, so that a runtime that does not read cannot delay a deadline. It ends when
// the process is killed.
asio::awaitable<void> write_whole(std::shared_ptr<node::Session> session,
                                  wire::ProcessNumber process, std::string bytes) {
  const auto written =
      co_await session->write_input(process, wire::Stream::kRequests, std::move(bytes));
  if (!written) log::debug("cannot write to a context", {{"why", written.error().message()}});
}

asio::awaitable<void> interrupt_again(asio::io_context& io, std::shared_ptr<node::Session> session,
                                      std::shared_ptr<const Context> context) {
  const std::uint64_t cell = context->cells;
  const wire::ProcessNumber process = context->process;
  asio::steady_timer timer(io);
  for (int i = 0; i < kMoreInterrupts; ++i) {
    timer.expires_after(kInterruptAgain);
    co_await timer.async_wait(asio::use_awaitable);
    const bool same = context->lock.is_locked() && context->cells == cell;
    if (!same || context->process != process || !session->alive()) co_return;
    (void)session->signal(process, SIGINT, true);
  }
}

}  // namespace

Task<> ContextInterpreter::start(Context& context) {
  context.starting = true;
  struct Done {
    Context& context;
    ~Done() { context.starting = false; }
  } done{context};
  const std::vector<std::string> environment = sessions_.environment(session_->id());
  const bool is_image = !variable_in(environment, kImageVariable).empty();
  if (is_image) use_image_defaults(context.spec, environment);
  LanguageFacts facts = language_facts(context.spec.language);
  if (is_image) search_in_image(facts);
  wire::Job job;
  job.env = environment_for(context.spec.user, environment, context.spec.env);
  job.workdir = context.spec.cwd;
  job.name = "cell";

  node::ProcessSpec spec;
  spec.kind = context.spec.language == Language::kPython ? wire::ProcessKind::kWarmContext
                                                         : wire::ProcessKind::kContext;
  spec.user = context.spec.user;
  spec.exec.argv = facts.command;
  spec.exec.env = job.env;
  spec.exec.workdir = context.spec.cwd;
  spec.lossy = true;
  ProcessLabel label;
  label.cmd = std::string(facts.name) + " context";
  label.user = spec.user;
  label.cwd = context.spec.cwd;
  label.created_ms = context.created_ms;
  label.context = context.id;
  label.language = facts.name;
  spec.label = encode_label(label);
  auto started = co_await session_->start(std::move(spec), node::Session::Attach::kYes);
  if (!started) {
    co_return fail(start_error(facts, started.error(), context.spec.cwd, is_image));
  }
  context.process = started->info.number;
  context.warm = started->info.warm;
  context.adopted = false;
  context.read = {};
  write(context, wire::with_length(wire::encode_job(job)));
  auto ready = co_await wait_until_ready(context, std::move(started->attachment));
  if (!ready) {
    co_await end(context, true);
    co_return fail(std::move(ready.error()));
  }
  co_return Result<>();
}

Task<> ContextInterpreter::wait_until_ready(Context& context,
                                            std::unique_ptr<Attachment> attachment) {
  ContextOutput lines;
  std::string error_said;
  std::string written;
  const LanguageFacts& facts = language_facts(context.spec.language);
  const auto deadline = Clock::now() + facts.is_ready_within;
  while (true) {
    const Attachment::Event event = co_await attachment->next(deadline);
    if (const auto* chunk = std::get_if<Attachment::Chunk>(&event)) {
      const std::uint64_t end = chunk->offset + chunk->bytes.size();
      if (chunk->stream == wire::Stream::kResults) {
        context.read.results = end;
        for (const auto& line : lines.add(chunk->bytes)) {
          if (std::holds_alternative<wire::ContextReady>(line.event)) co_return Result<>();
          // The runtime's own error message.
          if (const auto error = wire::parse_guest_result(line.result); error && error->is_error) {
            const boost::json::value* message = error->content.if_contains("message");
            if (message != nullptr && message->is_string()) {
              error_said = message->get_string().c_str();
            }
          }
        }
      } else if (chunk->stream == wire::Stream::kStderr) {
        context.read.err = end;
        written += chunk->bytes.substr(0, 500 - std::min<std::size_t>(written.size(), 500));
      } else {
        context.read.out = end;
      }
    } else if (const auto* exited = std::get_if<Attachment::Exited>(&event)) {
      std::string why =
          "the interpreter " + how_interpreter_ended(exited->end) + " before it was ready";
      // A runtime writes its error to its error output as well.
      std::string said = error_said.empty() ? written : error_said;
      while (said.ends_with('\n')) said.pop_back();
      if (!said.empty()) why += ": " + printable(said);
      const bool is_missing = says_what_is_missing(said);
      if (is_missing) why += needs_package(facts);
      co_return fail(is_missing ? Errc::kUnsupported : Errc::kInvalidArgument, std::move(why));
    } else if (const auto* gone = std::get_if<Attachment::Gone>(&event)) {
      co_return fail(Errc::kUnavailable, gone->why);
    } else if (std::holds_alternative<Attachment::Nothing>(event)) {
      co_return fail(Errc::kTimeout, "the interpreter was not ready within " +
                                         std::to_string(facts.is_ready_within.count()) +
                                         " seconds");
    }
  }
}

bool ContextInterpreter::is_alive(const Context& context) const {
  if (context.process == 0) return false;
  const auto process = session_->find_process(context.process);
  return process && !process->ended;
}

Result<> ContextInterpreter::interrupt(const Context& context) {
  // Like Ctrl-C: a program that the code waits for must get the signal, too.
  const Result<> sent = session_->signal(context.process, SIGINT, true);
  // A program that the shell starts at this very moment may miss the signal: send it again.
  if (sent && !context.removed && context.spec.language == Language::kBash &&
      context.lock.is_locked()) {
    asio::co_spawn(io_, interrupt_again(io_, session_, context.shared_from_this()), asio::detached);
  }
  return sent;
}

void ContextInterpreter::kill(const Context& context) {
  if (context.process != 0) (void)session_->signal(context.process, SIGKILL, true);
}

asio::awaitable<void> ContextInterpreter::end(Context& context, bool kill) {
  const wire::ProcessNumber process = std::exchange(context.process, 0);
  if (process == 0) co_return;
  if (kill) {
    (void)session_->signal(process, SIGKILL, true);
    const auto deadline = Clock::now() + kInterpreterDeadWithin;
    (void)co_await session_->wait_exit(process, deadline);
  }
  (void)session_->forget(process);
}

void ContextInterpreter::write(const Context& context, std::string bytes) {
  asio::co_spawn(io_, write_whole(session_, context.process, std::move(bytes)), asio::detached);
}

}  // namespace glovebox::sessions
