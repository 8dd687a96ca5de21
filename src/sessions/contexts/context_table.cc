#include "sessions/contexts/context_table.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/process_label.h"
#include "sessions/processes/signal_names.h"
#include "wire/guest/cell.h"

namespace glovebox::sessions {
namespace {

using Clock = std::chrono::steady_clock;

bool is_context_id(std::string_view id) {
  return !id.empty() && id.size() <= 32 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

// Accepts and discards all output.
class DroppingSink final : public node::RunSink {
 public:
  asio::awaitable<bool> on_output(bool, std::string_view) override { co_return true; }
  asio::awaitable<bool> on_result(std::string_view) override { co_return true; }
};

struct ContextUnlock {
  std::shared_ptr<Context> context;
  ~ContextUnlock() { context->lock.unlock(); }
};

// Calls `call`, which interrupts the cell, if the request is cancelled while this object exists.
struct InterruptOnCancel {
  InterruptOnCancel(std::shared_ptr<node::CancelFlag> flag, std::function<void()> call)
      : cancel(std::move(flag)) {
    cancel->on_cancel(std::move(call));
  }
  ~InterruptOnCancel() { cancel->on_cancel({}); }
  InterruptOnCancel(const InterruptOnCancel&) = delete;
  InterruptOnCancel& operator=(const InterruptOnCancel&) = delete;
  std::shared_ptr<node::CancelFlag> cancel;
};

}  // namespace

ContextTable::ContextTable(asio::io_context& io, Sessions& sessions, OomKillCounter& ooms,
                           std::shared_ptr<node::Session> session)
    : io_(io),
      sessions_(sessions),
      ooms_(ooms),
      session_(std::move(session)),
      interpreter_(io, sessions, session_) {
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
  auto started = co_await interpreter_.start(*context);
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

Task<> ContextTable::remove(std::shared_ptr<Context> context) {
  context->removed = true;
  contexts_.erase(context->id);
  const wire::ProcessNumber process = context->process;
  if (context->lock.is_locked()) {
    // The cell that holds the lock sees the end and cleans up.
    interpreter_.kill(*context);
  } else {
    co_await interpreter_.end(*context, true);
  }
  sessions_.note(session_->id(), "context", "context " + context->id + " deleted", process);
  co_return Result<>();
}

Task<> ContextTable::restart(std::shared_ptr<Context> context) {
  const auto self = shared_from_this();
  const wire::ProcessNumber old = context->process;
  // The cell that holds the lock sees the end, and starts a new interpreter.
  if (context->lock.is_locked() && !context->starting && old != 0) {
    interpreter_.kill(*context);
  }
  auto never = std::make_shared<node::CancelFlag>();
  CO_TRY_OK(co_await context->lock.lock(never));
  const ContextUnlock unlock{context};
  if (context->removed) co_return fail(Errc::kNotFound, "the context was deleted");
  if (context->process == old || !interpreter_.is_alive(*context)) {
    co_await interpreter_.end(*context, true);
    CO_TRY_OK(co_await interpreter_.start(*context));
  }
  context->cells = 0;
  sessions_.note(session_->id(), "context",
                 "context " + context->id + " was restarted and is empty", context->process);
  co_return Result<>();
}

Result<> ContextTable::interrupt(const Context& context) {
  // An idle runtime has nothing to stop. Whether an adopted one is idle is unknown.
  if (context.process == 0 || context.starting) return {};
  if (!context.lock.is_locked() && !context.adopted) return {};
  return interpreter_.interrupt(context);
}

Task<CellReport> ContextTable::run(std::shared_ptr<Context> context, CellRequest request,
                                   node::RunSink& sink, std::shared_ptr<node::CancelFlag> cancel) {
  const auto self = shared_from_this();
  const auto asked = Clock::now();
  CO_TRY_OK(co_await context->lock.lock(cancel));
  const ContextUnlock unlock{context};
  const auto begun = Clock::now();
  auto report = co_await run_in_turn(context, std::move(request), sink, cancel);
  if (report) {
    report->queued = std::chrono::duration_cast<std::chrono::microseconds>(begun - asked);
    report->outcome.wall =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun);
  }
  // The context was deleted while the cell ran: this cell has to clean up.
  if (context->removed) co_await interpreter_.end(*context, true);
  co_return report;
}

Task<CellReport> ContextTable::run_in_turn(std::shared_ptr<Context> context, CellRequest request,
                                           node::RunSink& sink,
                                           std::shared_ptr<node::CancelFlag> cancel) {
  if (context->removed) co_return fail(Errc::kNotFound, "the context was deleted");
  CellReport report;
  if (!interpreter_.is_alive(*context)) {
    co_await interpreter_.end(*context, false);
    CO_TRY_OK(co_await interpreter_.start(*context));
    report.restarted = true;
    sessions_.note(session_->id(), "context",
                   "context " + context->id + " had died; it was restarted and is empty",
                   context->process);
  }
  const auto deadline =
      request.timeout.count() == 0 ? Clock::time_point::max() : Clock::now() + request.timeout;
  report.warm = context->warm;
  report.cell = ++context->cells;
  report.outcome.walls = session_->walls();
  const auto running = context->process;
  OomKillCounter::Mark mark = co_await ooms_.mark(session_->id());
  const InterruptOnCancel watch(cancel, [this, context = context.get()] {
    if (context->process != 0) (void)interpreter_.interrupt(*context);
  });

  // A cell of an earlier server may still run, and no client waits for its output: send an empty
  // cell, and drop everything before its end.
  const bool drain = std::exchange(context->adopted, false);
  for (int round = drain ? 0 : 1; round < 2; ++round) {
    const bool is_ours = round == 1;
    wire::Cell cell;
    cell.number = next_cell_++;
    cell.name = "cell-" + std::to_string(report.cell);
    if (is_ours) {
      cell.code = std::move(request.code);
      cell.stdin_text = std::move(request.stdin_text);
      cell.env = std::move(request.env);
      cell.rich = request.rich;
    }
    CO_TRY(auto attachment, co_await session_->attach(context->process, context->read));
    interpreter_.write(*context, wire::encode_cell(cell));
    if (is_ours && request.on_turn) co_await request.on_turn(report.cell);
    DroppingSink dropping;
    CellReport dropped;
    CellReader reader(interpreter_, *context, is_ours ? sink : dropping, *cancel, cell.number,
                      is_ours ? request.output_limit : 0, deadline);
    CellReport& received = is_ours ? report : dropped;
    if (!is_ours) log::info("draining a context of an earlier server", {{"context", context->id}});
    sink.set_may_have_run(is_ours);
    CO_TRY_OK(co_await reader.read(std::move(attachment), received));
    report.outcome.timed_out = received.outcome.timed_out;
    if (!reader.exited() && !reader.killed()) {
      if (is_ours || !received.outcome.timed_out) continue;
      // The earlier cell used up the time of this one.
      report.outcome.exit_code = kExitTimeout;
      break;
    }
    // Its interpreter has ended.
    const wire::ProcessEnd end = reader.exited().value_or(wire::ProcessEnd{});
    report.restarted = true;
    report.outcome.exit_code =
        reader.requested_exit_code() ? *reader.requested_exit_code() : exit_code_of(end);
    report.outcome.signal = end.signal;
    if (!reader.killed() && !reader.requested_exit_code()) {
      report.outcome.oom_killed = co_await ooms_.killed_since(session_->id(), mark, end);
      report.died = "the interpreter " + (end.signal != 0
                                              ? "was ended by " + signal_name(end.signal)
                                              : "ended with exit code " + std::to_string(end.code));
      if (report.outcome.oom_killed) report.died += ": the memory limit was reached";
    }
    co_await interpreter_.end(*context, !reader.exited());
    sessions_.note(session_->id(), "context",
                   "context " + context->id + ": " +
                       (report.died.empty() ? std::string("its interpreter ended") : report.died),
                   running);
    break;
  }
  if (report.outcome.timed_out) {
    report.outcome.exit_code = kExitTimeout;
    report.outcome.signal = 0;
  }
  if (context->process == 0 && !context->removed) {
    auto started = co_await interpreter_.start(*context);
    if (!started) {
      log::warn("cannot restart a context", {{"context", context->id},
                                             {"sandbox", session_->id().str()},
                                             {"why", started.error().message()}});
    }
  }
  co_return report;
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
