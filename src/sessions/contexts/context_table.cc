#include "sessions/contexts/context_table.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <random>

#include "base/log.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "sessions/contexts/context_output.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/process_label.h"
#include "sessions/processes/signal_names.h"
#include "sessions/processes/user_environment.h"
#include "wire/guest/cell.h"
#include "wire/guest/guest_result.h"
#include "wire/guest/job.h"

namespace glovebox::sessions {
namespace {

using Clock = std::chrono::steady_clock;
using node::Attachment;

constexpr std::chrono::seconds kInterpreterDeadWithin{5};
constexpr std::chrono::seconds kInterruptAgain{1};
constexpr int kMoreInterrupts = 3;

bool is_context_id(std::string_view id) {
  return !id.empty() && id.size() <= 32 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

// Our own runtime of TypeScript, and a Java without its compiler.
bool says_what_is_missing(std::string_view said) {
  return said.find("not installed") != std::string_view::npos ||
         said.find("Module jdk.") != std::string_view::npos;
}

std::string needs_package(const LanguageFacts& facts) {
  return "; " + std::string(facts.name) + " needs the Debian package " +
         std::string(facts.package) + " on the host";
}

Error start_error(const LanguageFacts& facts, const Error& error) {
  const std::string why =
      "the " + std::string(facts.name) + " context cannot start: " + error.message();
  // Which step failed is in the message; the program is started last.
  const bool is_directory = error.message().find("working directory") != std::string::npos;
  if (error.code() == Errc::kNotFound && !is_directory) {
    return Error(Errc::kUnsupported, why + needs_package(facts));
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

}  // namespace

ContextTable::ContextTable(asio::io_context& io, Sessions& sessions, OomKillCounter& ooms,
                           std::shared_ptr<node::Session> session)
    : io_(io), sessions_(sessions), ooms_(ooms), session_(std::move(session)) {
  std::random_device random;
  // Below 2^52: it is sent as a JSON number.
  next_cell_ = ((static_cast<std::uint64_t>(random()) & 0xffffffffu) << 20) + 1;
  adopt();
}

// Adopts contexts that an earlier server started. The labels come from the sandbox: not trusted.
void ContextTable::adopt() {
  for (const node::ProcessInfo& process : session_->processes()) {
    if (process.kind == wire::ProcessKind::kProgram) continue;
    const ProcessLabel label = decode_label(process.label);
    const auto language = parse_language(label.language);
    if (!language || !is_context_id(label.context)) continue;
    const auto known = contexts_.find(label.context);
    // If two have the same id, the living one is kept: the other was about to be replaced.
    if (known != contexts_.end() && (process.ended || known->second->process != 0)) continue;
    if (known == contexts_.end() && contexts_.size() >= kMaxContexts) continue;
    ContextSpec spec;
    spec.language = *language;
    spec.cwd = label.cwd;
    if (!label.user.empty() && label.user.size() <= wire::kMaxUserName) spec.user = label.user;
    auto context = std::make_shared<Context>(io_, label.context, std::move(spec));
    context->created_ms = label.created_ms;
    context->warm = process.warm;
    context->adopted = true;
    if (!process.ended) context->process = process.number;
    context->read = {process.out.end, process.err.end, process.results.end};
    contexts_.insert_or_assign(label.context, std::move(context));
  }
}

std::vector<std::shared_ptr<Context>> ContextTable::list() const {
  std::vector<std::shared_ptr<Context>> all;
  for (const auto& [id, context] : contexts_) all.push_back(context);
  return all;
}

std::shared_ptr<Context> ContextTable::find(std::string_view id) const {
  const auto found = contexts_.find(id);
  return found == contexts_.end() ? nullptr : found->second;
}

bool ContextTable::alive(const Context& context) const {
  if (context.process == 0) return false;
  const auto process = session_->find_process(context.process);
  return process && !process->ended;
}

Task<std::shared_ptr<Context>> ContextTable::create(ContextSpec spec) {
  std::string id = "cx" + random_label(14);
  co_return co_await make(std::move(id), std::move(spec));
}

Task<std::shared_ptr<Context>> ContextTable::default_of(Language language,
                                                        std::vector<std::string> env) {
  std::string id(language_name(language));
  if (auto known = find(id)) co_return known;
  ContextSpec spec;
  spec.language = language;
  spec.env = std::move(env);
  co_return co_await make(std::move(id), std::move(spec));
}

Task<std::shared_ptr<Context>> ContextTable::make(std::string id, ContextSpec spec) {
  // A default context can be created even at the limit: a client with too many contexts can still
  // run code.
  const bool is_default = parse_language(id).has_value();
  if (!is_default && contexts_.size() >= kMaxContexts) {
    co_return fail(
        Errc::kResourceExhausted,
        "a session has at most " + std::to_string(kMaxContexts) + " contexts; delete one");
  }
  auto context = std::make_shared<Context>(io_, id, std::move(spec));
  context->created_ms = wall_clock_ms();
  context->order = next_order_++;
  contexts_.emplace(id, context);
  // Requests that find it meanwhile wait for the lock.
  auto never = std::make_shared<node::CancelFlag>();
  CO_TRY_OK(co_await context->lock.lock(never));
  auto started = co_await start(*context);
  if (!started) {
    context->removed = true;
    contexts_.erase(id);
  }
  context->lock.unlock();
  if (!started) co_return fail(std::move(started.error()));
  sessions_.note(session_->id(), "context",
                 std::string(language_name(context->spec.language)) + " context " + id +
                     (context->warm ? " started warm" : " started"),
                 context->process);
  co_return context;
}

Task<> ContextTable::start(Context& context) {
  context.starting = true;
  struct Done {
    Context& context;
    ~Done() { context.starting = false; }
  } done{context};
  const LanguageFacts& facts = language_facts(context.spec.language);
  wire::Job job;
  job.env =
      environment_for(context.spec.user, sessions_.environment(session_->id()), context.spec.env);
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
    co_return fail(start_error(facts, started.error()));
  }
  context.process = started->info.number;
  context.warm = started->info.warm;
  context.adopted = false;
  context.read = {};
  write(context.process, wire::with_length(wire::encode_job(job)));
  auto ready = co_await wait_until_ready(context, std::move(started->attachment));
  if (!ready) {
    co_await end_interpreter(context, true);
    co_return fail(std::move(ready.error()));
  }
  co_return Result<>();
}

Task<> ContextTable::wait_until_ready(Context& context, std::unique_ptr<Attachment> attachment) {
  ContextOutput lines;
  std::string said;
  const LanguageFacts& facts = language_facts(context.spec.language);
  const auto deadline = Clock::now() + facts.is_ready_within;
  while (true) {
    const Attachment::Event event = co_await attachment->next(deadline);
    if (const auto* chunk = std::get_if<Attachment::Chunk>(&event)) {
      const std::uint64_t end = chunk->offset + chunk->bytes.size();
      if (chunk->stream == wire::Stream::kResults) {
        context.read.results = end;
        for (const auto& line : lines.add(chunk->bytes)) {
          if (std::holds_alternative<wire::ContextReady>(line.word)) co_return Result<>();
          // The runtime's own error message.
          if (const auto error = wire::parse_guest_result(line.result); error && error->is_error) {
            const boost::json::value* message = error->content.if_contains("message");
            if (message != nullptr && message->is_string()) said = message->get_string().c_str();
          }
        }
      } else if (chunk->stream == wire::Stream::kStderr) {
        context.read.err = end;
        said += chunk->bytes.substr(0, 500 - std::min<std::size_t>(said.size(), 500));
      } else {
        context.read.out = end;
      }
    } else if (const auto* exited = std::get_if<Attachment::Exited>(&event)) {
      std::string why =
          "the interpreter " + how_interpreter_ended(exited->end) + " before it was ready";
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

// After this the context has no interpreter.
asio::awaitable<void> ContextTable::end_interpreter(Context& context, bool kill) {
  const wire::ProcessNumber process = std::exchange(context.process, 0);
  if (process == 0) co_return;
  if (kill) {
    (void)session_->signal(process, SIGKILL, true);
    const auto deadline = Clock::now() + kInterpreterDeadWithin;
    (void)co_await session_->wait_exit(process, deadline);
  }
  (void)session_->forget(process);
}

Task<> ContextTable::remove(std::shared_ptr<Context> context) {
  context->removed = true;
  contexts_.erase(context->id);
  const wire::ProcessNumber process = context->process;
  if (context->lock.is_locked()) {
    // The cell that holds the lock sees the end and cleans up.
    if (process != 0) (void)session_->signal(process, SIGKILL, true);
  } else {
    co_await end_interpreter(*context, true);
  }
  sessions_.note(session_->id(), "context", "context " + context->id + " deleted", process);
  co_return Result<>();
}

Result<> ContextTable::interrupt(const Context& context) {
  // An idle runtime has nothing to stop. Whether an adopted one is idle is unknown.
  if (context.process == 0 || context.starting) return {};
  if (!context.lock.is_locked() && !context.adopted) return {};
  return send_interrupt(context);
}

Result<> ContextTable::send_interrupt(const Context& context) {
  // Like Ctrl-C: a program that the code waits for must get the signal, too.
  const Result<> sent = session_->signal(context.process, SIGINT, true);
  // A program that the shell starts at this very moment may miss the signal: send it again.
  auto shared = find(context.id);
  if (sent && shared && shared->spec.language == Language::kBash && shared->lock.is_locked()) {
    asio::co_spawn(io_, interrupt_again(std::move(shared)), asio::detached);
  }
  return sent;
}

asio::awaitable<void> ContextTable::interrupt_again(std::shared_ptr<Context> context) {
  const auto self = shared_from_this();
  const std::uint64_t cell = context->cells;
  const wire::ProcessNumber process = context->process;
  asio::steady_timer timer(io_);
  for (int i = 0; i < kMoreInterrupts; ++i) {
    timer.expires_after(kInterruptAgain);
    co_await timer.async_wait(asio::use_awaitable);
    const bool same = context->lock.is_locked() && context->cells == cell;
    if (!same || context->process != process || !session_->alive()) co_return;
    (void)session_->signal(process, SIGINT, true);
  }
}

void ContextTable::write(wire::ProcessNumber process, std::string bytes) {
  asio::co_spawn(io_, write_whole(session_, process, std::move(bytes)), asio::detached);
}

std::shared_ptr<ContextTable> Contexts::of(const std::shared_ptr<node::Session>& session) {
  const auto known = tables_.find(session->id());
  if (known != tables_.end() && known->second->session() == session) return known->second;
  std::erase_if(tables_, [](const auto& one) { return !one.second->session()->alive(); });
  auto table = std::make_shared<ContextTable>(io_, sessions_, ooms_, session);
  tables_.insert_or_assign(session->id(), table);
  return table;
}

}  // namespace glovebox::sessions
