// Runs one cell in a context: sends it, and reads its output until it ends or has to be stopped.
#include <algorithm>
#include <csignal>
#include <deque>

#include "base/log.h"
#include "sessions/contexts/context_output.h"
#include "sessions/contexts/context_table.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/signal_names.h"
#include "wire/guest/cell.h"

namespace glovebox::sessions {

using Clock = std::chrono::steady_clock;
using node::Attachment;

namespace {

// The time from the interrupt to the kill.
constexpr std::chrono::seconds kAnswerPatience{2};
// How long to wait for the remaining output after a cell's end, and for the end after a kill.
constexpr std::chrono::seconds kStragglers{2};
constexpr std::chrono::seconds kCellDeadWithin{10};
constexpr std::chrono::seconds kLookRound{1};

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

// Reads one cell's output and results to its end.
class CellReader {
 public:
  CellReader(ContextTable& table, Context& context, node::RunSink& sink, node::CancelFlag& cancel,
             std::uint64_t number, std::uint64_t output_limit, Clock::time_point deadline)
      : table_(table),
        context_(context),
        sink_(sink),
        cancel_(cancel),
        number_(number),
        output_limit_(output_limit),
        deadline_(deadline) {}

  Task<> read(std::unique_ptr<Attachment> attachment, CellReport& report) {
    while (!is_complete()) {
      const auto until = std::min(next_step(), Clock::now() + kLookRound);
      Attachment::Event event = co_await attachment->next(until);
      if (auto* chunk = std::get_if<Attachment::Chunk>(&event)) {
        co_await take(std::move(*chunk), report);
      } else if (const auto* lost = std::get_if<Attachment::Lost>(&event)) {
        position(lost->stream) += lost->bytes;
        report.outcome.truncated = true;
      } else if (const auto* exited = std::get_if<Attachment::Exited>(&event)) {
        exited_ = exited->end;
      } else if (const auto* gone = std::get_if<Attachment::Gone>(&event)) {
        co_return fail(Errc::kUnavailable, gone->why);
      }
      co_await release(report, false);
      step(report);
    }
    co_await release(report, true);
    report.outcome.truncated = report.outcome.truncated || lines_.truncated();
    report.outcome.exit_code = end_ ? *end_ : 0;
    co_return Result<>();
  }

  const std::optional<wire::ProcessEnd>& exited() const { return exited_; }
  // The exit code with which the code ended its interpreter.
  const std::optional<int>& requested_exit_code() const { return requested_exit_code_; }
  bool killed() const { return killed_; }

 private:
  bool is_complete() const {
    if (exited_ || gave_up_) return true;
    return end_ && has_printed(out_before_, err_before_);
  }

  std::uint64_t& position(wire::Stream stream) {
    if (stream == wire::Stream::kResults) return context_.read.results;
    return stream == wire::Stream::kStderr ? context_.read.err : context_.read.out;
  }

  asio::awaitable<void> take(Attachment::Chunk chunk, CellReport& report) {
    position(chunk.stream) = chunk.offset + chunk.bytes.size();
    if (chunk.stream != wire::Stream::kResults) {
      co_await print(chunk.stream == wire::Stream::kStderr, std::move(chunk.bytes), report);
      co_return;
    }
    for (ContextOutput::Line& line : lines_.add(chunk.bytes)) {
      if (!line.result.empty()) {
        held_.push_back({std::move(line.result), chunk.out_before, chunk.err_before});
      } else if (const auto* end = std::get_if<wire::CellEnd>(&line.word)) {
        if (end->number != number_ || end_) continue;
        end_ = end->exit_code;
        out_before_ = chunk.out_before;
        err_before_ = chunk.err_before;
        deadline_ = Clock::now() + kStragglers;
      } else if (const auto* exit = std::get_if<wire::ContextExit>(&line.word)) {
        requested_exit_code_ = exit->exit_code;
      }
    }
  }

  bool has_printed(std::uint64_t out, std::uint64_t err) const {
    return context_.read.out >= out && context_.read.err >= err;
  }

  // Passes on results whose preceding output has been passed on.
  asio::awaitable<void> release(CellReport& report, bool all) {
    while (!held_.empty() &&
           (all || has_printed(held_.front().out_before, held_.front().err_before))) {
      const bool there = co_await sink_.on_result(held_.front().line);
      reader_gone_ = reader_gone_ || !there;
      report.results.push_back(std::move(held_.front().line));
      held_.pop_front();
    }
  }

  asio::awaitable<void> print(bool is_stderr, std::string bytes, CellReport& report) {
    Outcome& outcome = report.outcome;
    const std::uint64_t room = output_limit_ - std::min(output_limit_, outcome.output_bytes);
    outcome.output_bytes += bytes.size();
    if (bytes.size() > room) {
      outcome.truncated = true;
      bytes.resize(static_cast<std::size_t>(room));
    }
    if (bytes.empty() || reader_gone_) co_return;
    const bool there = co_await sink_.on_output(is_stderr, bytes);
    reader_gone_ = !there;
  }

  Clock::time_point next_step() const { return deadline_; }

  // Acts on the deadline and on a cancelled request.
  void step(CellReport& report) {
    const auto now = Clock::now();
    if (end_ || exited_) {
      gave_up_ = now >= deadline_;
      return;
    }
    if (now >= deadline_) {
      if (killed_) {
        gave_up_ = true;
      } else if (report.outcome.timed_out) {
        killed_ = true;
        (void)table_.session()->signal(context_.process, SIGKILL, true);
        deadline_ = now + kCellDeadWithin;
      } else {
        report.outcome.timed_out = true;
        interrupt();
        deadline_ = now + kAnswerPatience;
      }
      return;
    }
    // Repeated: the first signal may have arrived before the runtime started the cell.
    if ((cancel_.cancelled() || reader_gone_) && !report.outcome.timed_out &&
        now >= next_interrupt_) {
      interrupt();
      next_interrupt_ = now + kAnswerPatience;
    }
  }

  void interrupt() { (void)table_.send_interrupt(context_); }

  ContextTable& table_;
  Context& context_;
  node::RunSink& sink_;
  node::CancelFlag& cancel_;
  const std::uint64_t number_;
  const std::uint64_t output_limit_;
  Clock::time_point deadline_;
  Clock::time_point next_interrupt_{};
  ContextOutput lines_;
  struct Held {
    std::string line;
    std::uint64_t out_before = 0;
    std::uint64_t err_before = 0;
  };
  std::deque<Held> held_;  // bounded by what ContextOutput lets through
  std::optional<int> end_;
  std::optional<int> requested_exit_code_;
  std::optional<wire::ProcessEnd> exited_;
  std::uint64_t out_before_ = 0;
  std::uint64_t err_before_ = 0;
  bool reader_gone_ = false;
  bool killed_ = false;
  bool gave_up_ = false;
};

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
  if (context->removed) co_await end_interpreter(*context, true);
  co_return report;
}

Task<> ContextTable::restart(std::shared_ptr<Context> context) {
  const auto self = shared_from_this();
  const wire::ProcessNumber old = context->process;
  // The cell that holds the lock sees the end, and starts a new interpreter.
  if (context->lock.is_locked() && !context->starting && old != 0) {
    (void)session_->signal(old, SIGKILL, true);
  }
  auto never = std::make_shared<node::CancelFlag>();
  CO_TRY_OK(co_await context->lock.lock(never));
  const ContextUnlock unlock{context};
  if (context->removed) co_return fail(Errc::kNotFound, "the context was deleted");
  if (context->process == old || !alive(*context)) {
    co_await end_interpreter(*context, true);
    CO_TRY_OK(co_await start(*context));
  }
  context->cells = 0;
  sessions_.note(session_->id(), "context",
                 "context " + context->id + " was restarted and is empty", context->process);
  co_return Result<>();
}

Task<CellReport> ContextTable::run_in_turn(std::shared_ptr<Context> context, CellRequest request,
                                           node::RunSink& sink,
                                           std::shared_ptr<node::CancelFlag> cancel) {
  if (context->removed) co_return fail(Errc::kNotFound, "the context was deleted");
  CellReport report;
  if (!alive(*context)) {
    co_await end_interpreter(*context, false);
    CO_TRY_OK(co_await start(*context));
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
    if (context->process != 0) (void)send_interrupt(*context);
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
    write(context->process, wire::encode_cell(cell));
    if (is_ours && request.on_turn) co_await request.on_turn(report.cell);
    DroppingSink dropping;
    CellReport dropped;
    CellReader reader(*this, *context, is_ours ? sink : dropping, *cancel, cell.number,
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
    co_await end_interpreter(*context, !reader.exited());
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
    auto started = co_await start(*context);
    if (!started) {
      log::warn("cannot restart a context", {{"context", context->id},
                                             {"sandbox", session_->id().str()},
                                             {"why", started.error().message()}});
    }
  }
  co_return report;
}

}  // namespace glovebox::sessions
