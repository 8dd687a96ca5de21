#include "node/runs/run_attempt.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "node/links/launcher_error.h"
#include "node/runs/output_files.h"
#include "node/runs/run_end.h"
#include "node/runs/start_error.h"
#include "node/sandboxes/check_grade.h"
#include "node/sandboxes/guest_pipe.h"

namespace glovebox::node {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kBuffer = 64 * 1024;
constexpr int kReadsPerTurn = 4;
// Output past the run's limit is read and dropped, so that the program goes on: this much of it,
// and of results, as fast as it comes, and the rest with a pause after each read. A read counts as
// a page at least.
constexpr std::uint64_t kMaxSurplus = 64u << 20;
constexpr std::uint64_t kLeastRead = 4096;
constexpr milliseconds kFloodPause{20};
// Pipes close when the sandbox has ended; the bound covers what we did not foresee.
constexpr milliseconds kDrainTime{1000};
constexpr milliseconds kEndReportTime{1000};

std::chrono::microseconds between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::microseconds>(to - from);
}

Error launcher_lost() { return launcher_error("the launcher was lost during this run"); }

}  // namespace

RunAttempt::RunAttempt(RunContext context, const RunJob& job, RunSink& sink,
                       std::unique_ptr<Sandbox> sandbox, RunReport& report, Clock::time_point asked)
    : context_(context),
      job_(job),
      sink_(sink),
      report_(report),
      asked_(asked),
      signal_(context.io),
      sandbox_(std::move(sandbox)),
      link_(sandbox_->socket()) {
  sandbox_->on_end([this] { signal_.set(); });
  sandbox_->socket().wakes(&signal_);
  context_.active_runs.add(this);
  context_.allocator.run_began();
}

RunAttempt::~RunAttempt() {
  context_.active_runs.remove(this);
  sandbox_->on_end({});
  if (has_network_) context_.networks.close(sandbox_->id(), {});
  sandbox_.reset();  // its part of the budget is free before the run counts as ended
  context_.allocator.run_ended();
}

void RunAttempt::check_deadlines(Clock::time_point time) {
  if (time >= wake_at_) signal_.set();
}

void RunAttempt::stop() {
  stopped_ = true;
  signal_.set();
}

Task<> RunAttempt::go(RuntimeKind runtime, std::shared_ptr<CancelFlag> cancel) {
  if (cancel) {
    cancel->on_cancel([this] { stop(); });
    if (cancel->cancelled()) stopped_ = true;
  }
  Result<> done = co_await run_in_sandbox(runtime);
  if (cancel) cancel->on_cancel({});
  co_return done;
}

Task<> RunAttempt::run_in_sandbox(RuntimeKind runtime) {
  report_.sandbox = sandbox_->id().str();
  report_.outcome.engine = job_.engine;
  report_.outcome.walls = sandbox_->walls();
  if (const ReuseSlot* slot = sandbox_->reuse()) report_.reused = slot->calls;
  CO_TRY_OK(check_grade(job_.engine, sandbox_->walls(), job_.min_grade));
  mode_ = job_.exec               ? StartMode::kProgram
          : sandbox_->make().warm ? StartMode::kWarmRuntime
                                  : StartMode::kColdRuntime;
  report_.warm = mode_ == StartMode::kWarmRuntime;
  deadline_ = now() + job_.limits.wall + context_.options.backstop;
  ReuseSlot* const slot = sandbox_->reuse();
  if (slot != nullptr && slot->kept != nullptr) {
    continue_with(std::move(*std::exchange(slot->kept, nullptr)));
    CO_TRY_OK(co_await stream());
    if (!exited_ && sandbox_->ended() && sandbox_->ended()->refusal) {
      co_return fail(*sandbox_->ended()->refusal);
    }
    co_await fetch_files();
  } else {
    CO_TRY_OK(co_await start(runtime));
  }
  co_return co_await finish();
}

// The interpreter of an earlier call: it waits for the record of this one.
void RunAttempt::continue_with(KeptRuntime kept) {
  sandbox_->take(job_.limits, Sandbox::Network::kNone);
  sink_.set_may_have_run(true);
  kept.wake(signal_, stdin_, pipes_);
  handed_over_ = started_ = now();
  take_call_by_ = started_ + KeptRuntime::kToTakeCall;
  report_.outcome.setup = between(asked_, started_);
}

Task<> RunAttempt::start(RuntimeKind runtime) {
  CO_TRY(StartFrames frames, StartFrames::make(job_, mode_, runtime));
  // All of it at once: the frames are there when the launcher lets the agent continue.
  sandbox_->take(job_.limits, job_.net.is_none() ? Sandbox::Network::kNone : Sandbox::Network::kUp);
  if (!job_.net.is_none()) open_network();
  sink_.set_may_have_run(true);
  link_.begin(std::move(frames));
  handed_over_ = now();
  if (Result<> started = co_await await_started(); !started) {
    Error why = std::move(started.error());
    CO_TRY_OK(co_await on_start_failure(std::move(why)));
  } else {
    CO_TRY_OK(co_await stream());
    co_await fetch_files();
  }
  co_return Result<>();
}

boost::asio::awaitable<void> RunAttempt::fetch_files() {
  if (job_.return_files.empty() || stopped_) co_return;
  if (!exited_ || !link_open_) {
    report_.files_error = "the sandbox ended before its program did";
    co_return;
  }
  OutputFiles files(
      link_, [this] { return next_frame(); }, job_, report_);
  co_await files.fetch_all();
}

Task<> RunAttempt::await_started() {
  std::size_t stored = 0;
  while (true) {
    CO_TRY(SandboxLink::Incoming incoming, co_await next_frame());
    if (std::holds_alternative<wire::FileStored>(incoming.frame)) {
      if (++stored > job_.files.size())
        co_return fail(Errc::kProtocol, "more files stored than were sent");
    } else if (const auto* failed = std::get_if<wire::FileFailed>(&incoming.frame)) {
      sink_.set_may_have_run(false);
      co_return fail(Errc::kInvalidArgument, "copy a file in: " + failed->what);
    } else if (const auto* refused = std::get_if<wire::StartFailed>(&incoming.frame)) {
      // The waiting runtime is broken, not the caller's code.
      may_retry_ = mode_ == StartMode::kWarmRuntime;
      sink_.set_may_have_run(false);
      co_return fail(start_error(job_, *refused));
    } else if (std::holds_alternative<wire::ProgramStarted>(incoming.frame)) {
      CO_TRY_OK(take_pipes(std::move(incoming.fds)));
      // A warm runtime begins as soon as it has the job; we may read the agent's report of that
      // only when the code has ended.
      started_ = mode_ == StartMode::kWarmRuntime ? handed_over_ : now();
      report_.outcome.setup = between(asked_, started_);
      co_return Result<>();
    } else {
      co_return fail(Errc::kProtocol, "unexpected answer from the sandbox's agent");
    }
  }
}

Result<> RunAttempt::take_pipes(std::vector<UniqueFd> fds) {
  const bool has_results = mode_ != StartMode::kProgram;
  if (fds.size() != (has_results ? 4u : 3u)) {
    return fail(Errc::kProtocol, "the sandbox's agent did not send the program's streams");
  }
  for (const UniqueFd& fd : fds) TRY_OK(check_is_pipe(fd.get()));
  if (!input().empty()) {
    stdin_ = WatchedFd(context_.io, std::move(fds[0]));
    stdin_.wakes(&signal_);
  }
  for (std::size_t i = 1; i < fds.size(); ++i) {
    WatchedFd& pipe = pipes_[i - 1];
    pipe = WatchedFd(context_.io, std::move(fds[i]));
    pipe.wakes(&signal_);
  }
  return {};
}

// A limit so short that it was reached before the program started is an outcome like any other.
Task<> RunAttempt::on_start_failure(Error why) {
  if (stopped_) co_return Result<>();
  if (network_failed_ || why.code() != Errc::kUnavailable) co_return fail(std::move(why));
  // The socket was closed; the launcher reports why, and may not have noticed yet.
  const Clock::time_point until = now() + kEndReportTime;
  while (!sandbox_->ended() && !sandbox_->lost() && !stopped_ && now() < until) {
    co_await wait_until(until);
  }
  if (stopped_) co_return Result<>();
  if (sandbox_->lost()) co_return fail(launcher_lost());
  if (sandbox_->ended()) {
    const Sandbox::Ended& ended = *sandbox_->ended();
    if (ended.refusal) {
      sink_.set_may_have_run(false);
      co_return fail(*ended.refusal);
    }
    if (ended.reason == EndReason::kWallTimeout || ended.reason == EndReason::kCpuTimeout ||
        ended.usage.oom_kills > 0) {
      co_return Result<>();
    }
  }
  may_retry_ = true;
  co_return fail(std::move(why));
}

// Until the program has ended and everything it printed has been read, or the sandbox is gone.
Task<> RunAttempt::stream() {
  buffer_ = std::make_unique_for_overwrite<char[]>(kBuffer);
  std::optional<Clock::time_point> drain_until;
  boost::asio::steady_timer pause(context_.io);
  bool looked_again = false;
  while (true) {
    poll_exit();
    if (sandbox_->lost()) co_return fail(launcher_lost());
    if (now() >= deadline_) overdue_ = true;
    if (network_failed_ && !exited_) co_return fail(*network_failed_);
    // Nothing to fetch: the sandbox is ended while the last output is read.
    if (stopped_ || overdue_ || (exited_ && job_.return_files.empty())) begin_end();
    if (stopped_) co_return Result<>();
    const bool was_over = over();
    if (was_over) {
      for (WatchedFd& pipe : pipes_) pipe.assume_readable();
      if (!drain_until) drain_until = now() + kDrainTime;
    }
    feed_stdin();
    bool more = false;
    for (int i = kOut; i < kPipes; ++i) {
      if (pipes_[i].readable() && !stopped_) more |= co_await pump(static_cast<Pipe>(i));
    }
    if (stopped_) continue;
    if (all_closed()) {
      if (was_over) break;
      if (runtime_exit_ && job_.return_files.empty()) {
        // Nothing more can come: the rest of the sandbox is torn down behind us.
        exited_ = wire::ProgramExited{*runtime_exit_, 0, 0, 0};
        report_.outcome.wall = between(started_, now());
        break;
      }
    }
    if (job_.shares_interpreter && runtime_exit_ && !exited_) {
      if (!drain_until) drain_until = now() + kDrainTime;
      // What the call printed came before its last word, so it is in the pipes by now. Something
      // that it left may go on printing.
      const bool is_late = now() >= *drain_until;
      if (is_late || (looked_again && !more)) {
        call_ended_ = !is_late;
        exited_ = wire::ProgramExited{*runtime_exit_, 0, 0, 0};
        report_.outcome.wall = between(started_, now());
        break;
      }
      if (!std::exchange(looked_again, true)) {
        for (WatchedFd& pipe : pipes_) pipe.assume_readable();
        continue;
      }
    }
    if (more && is_flooding()) {
      pause.expires_after(kFloodPause);
      co_await pause.async_wait(boost::asio::use_awaitable);
      continue;
    }
    if (more) {
      // Give other runs a turn: this guest writes faster than its output is read.
      co_await boost::asio::post(context_.io, boost::asio::use_awaitable);
      continue;
    }
    if (drain_until && now() >= *drain_until) break;
    if (now() >= deadline_ + context_.options.backstop) break;
    if (take_call_by_ && now() >= *take_call_by_) {
      take_call_by_.reset();
      if (stdin_ && KeptRuntime::has_read_nothing(stdin_, stdin_at_)) {
        sandbox_->begin_destroy();
        may_retry_ = co_await KeptRuntime::never_read(context_.io, stdin_, stdin_at_);
        if (may_retry_) sink_.set_may_have_run(false);
        co_return fail(Errc::kUnavailable, "the interpreter does not take its call");
      }
    }
    const Clock::time_point until = drain_until.value_or(deadline_);
    co_await wait_until(std::min(until, take_call_by_.value_or(until)));
  }
  std::vector<std::string> last = results_.finish();
  co_await deliver_results(std::move(last));
  report_.results_truncated = results_.truncated();
  co_return Result<>();
}

void RunAttempt::poll_exit() {
  if (exited_) return;
  // Both may have happened at once: a program that ended in time has not timed out.
  if (sandbox_->ended()) sandbox_->socket().assume_readable();
  if (link_open_) {
    auto incoming = link_.receive();
    if (!incoming) {
      link_open_ = false;
    } else if (*incoming) {
      if (const auto* exited = std::get_if<wire::ProgramExited>(&(*incoming)->frame)) {
        exited_ = *exited;
      } else {
        link_open_ = false;  // it broke the protocol; nothing more is read from it
      }
    }
  }
  if (over() && report_.outcome.wall.count() == 0) report_.outcome.wall = between(started_, now());
}

void RunAttempt::feed_stdin() {
  while (stdin_ && stdin_.writable()) {
    const std::string_view left = std::string_view(input()).substr(stdin_at_);
    if (left.empty() && job_.shares_interpreter) return;  // open for the next call
    const ssize_t put = left.empty() ? 0 : write_now(stdin_.fd(), left);
    if (put < 0 && errno == EAGAIN) return stdin_.wait_writable();
    // All is written, or the program has closed its end; the rest is dropped.
    if (put <= 0) return stdin_.close();
    stdin_at_ += static_cast<std::size_t>(put);
  }
}

// True: there is more to read right now.
boost::asio::awaitable<bool> RunAttempt::pump(Pipe which) {
  WatchedFd& pipe = pipes_[which];
  for (int i = 0; i < kReadsPerTurn && !stopped_; ++i) {
    // The program has ended, and the rest would not be delivered.
    if (which != kResults && is_flooding() && over() && report_.outcome.truncated) {
      pipe.close();
      co_return false;
    }
    const ssize_t got = read_now(pipe.fd(), {buffer_.get(), kBuffer});
    if (got < 0 && errno == EAGAIN) {
      pipe.wait_readable();
      co_return false;
    }
    if (got <= 0) {
      pipe.close();
      co_return false;
    }
    const std::string_view bytes(buffer_.get(), static_cast<std::size_t>(got));
    co_await deliver(which, bytes);
    if (which == kResults && results_.flooded()) {
      pipe.close();
      co_return false;
    }
    if (is_flooding()) co_return true;
    // That was all for now; the end of the pipe is looked for when the program has ended.
    if (bytes.size() < kBuffer && !over() && !runtime_exit_) {
      pipe.wait_readable();
      co_return false;
    }
  }
  co_return true;
}

boost::asio::awaitable<void> RunAttempt::deliver(Pipe which, std::string_view bytes) {
  if (which == kResults) {
    surplus_ += std::max<std::uint64_t>(bytes.size(), kLeastRead);
    std::vector<std::string> lines = results_.add(bytes);
    co_await deliver_results(std::move(lines));
    co_return;
  }
  Outcome& outcome = report_.outcome;
  const std::uint64_t left =
      job_.output_limit > outcome.output_bytes ? job_.output_limit - outcome.output_bytes : 0;
  outcome.output_bytes += bytes.size();
  if (bytes.size() > left) {
    outcome.truncated = true;
    surplus_ += std::max<std::uint64_t>(bytes.size() - left, kLeastRead);
    bytes = bytes.substr(0, static_cast<std::size_t>(left));
  }
  if (bytes.empty()) co_return;
  const bool wanted = co_await sink_.on_output(which == kErr, bytes);
  if (!wanted) stopped_ = true;
}

boost::asio::awaitable<void> RunAttempt::deliver_results(std::vector<std::string> lines) {
  for (std::string& line : lines) {
    if (stopped_) co_return;
    if (const auto code = exit_line(line)) {
      runtime_exit_ = code;
      continue;
    }
    const bool wanted = co_await sink_.on_result(line);
    if (!wanted) stopped_ = true;
    report_.results.push_back(std::move(line));
  }
}

bool RunAttempt::is_flooding() const { return surplus_ > kMaxSurplus; }

// In parallel with the take: the program's connections wait until the gateway has the network.
void RunAttempt::open_network() {
  has_network_ = true;
  context_.networks.open(sandbox_->id(), job_.project, job_.net, [this](const Error& why) {
    network_failed_ = why;
    signal_.set();
  });
}

// The gateway is asked for its report before the sandbox is destroyed.
void RunAttempt::begin_end() {
  if (std::exchange(has_network_, false)) {
    network_report_ = std::make_shared<PendingReply<wire::NetworkFigures>>(context_.io);
    context_.networks.close(sandbox_->id(),
                            [report = network_report_](wire::NetworkFigures figures) {
                              report->set(std::move(figures));
                            });
  }
  if (may_be_recycled()) {
    if (job_.shares_interpreter) {
      link_open_ = false;  // the socket goes with the sandbox
      sandbox_->reuse()->kept = KeptRuntime::of(stdin_, pipes_);
    }
    context_.allocator.recycle(*sandbox_);
  }
  sandbox_->begin_destroy();
}

// Anything but an orderly end may have left something that the agent does not know of.
bool RunAttempt::may_be_recycled() const {
  return sandbox_->can_be_recycled() && !stopped_ && !overdue_ && !network_failed_ && exited_ &&
         exited_->signal == 0 && link_open_ && (!job_.shares_interpreter || can_keep_runtime());
}

// It has read its whole record, and closed nothing.
bool RunAttempt::can_keep_runtime() const {
  return call_ended_ && mode_ == StartMode::kWarmRuntime && stdin_ && stdin_at_ == input().size() &&
         pipes_[kOut] && pipes_[kErr] && pipes_[kResults];
}

boost::asio::awaitable<void> RunAttempt::await_network_report() {
  if (!network_report_) co_return;
  const Clock::time_point deadline = Clock::now() + context_.options.network_report_wait;
  Result<wire::NetworkFigures> heard =
      co_await PendingReply<wire::NetworkFigures>::wait(network_report_, deadline);
  wire::NetworkFigures figures;
  figures.incomplete = true;
  report_.network = heard ? std::move(*heard) : std::move(figures);
}

Task<> RunAttempt::finish() {
  begin_end();
  CO_TRY_OK(co_await await_ended());
  co_await await_network_report();
  report_.cancelled = stopped_ && !exited_;
  report_.outcome =
      with_end(std::move(report_.outcome), job_.limits, *sandbox_->ended(), exited_, overdue_);
  co_return Result<>();
}

Task<SandboxLink::Incoming> RunAttempt::next_frame() {
  bool looked_again = false;
  while (true) {
    (void)link_.send_some();  // a closed socket is noticed by receive(), after the last frames
    auto incoming = link_.receive();
    if (!incoming) co_return fail(std::move(incoming.error()));
    if (*incoming) co_return std::move(**incoming);
    if (stopped_) co_return fail(Errc::kUnavailable, "the run was stopped");
    if (network_failed_) co_return fail(*network_failed_);
    if (sandbox_->lost()) co_return fail(launcher_lost());
    if (sandbox_->ended()) {
      // Frames sent before its end may still be unread.
      if (looked_again) co_return fail(Errc::kUnavailable, "the sandbox has ended");
      looked_again = true;
      sandbox_->socket().assume_readable();
      continue;
    }
    if (now() >= deadline_) {
      overdue_ = true;
      co_return fail(Errc::kTimeout, "the sandbox does not answer");
    }
    co_await wait_until(deadline_);
  }
}

Task<> RunAttempt::await_ended() {
  const Clock::time_point until = now() + context_.options.backstop;
  while (!sandbox_->ended()) {
    if (sandbox_->lost()) co_return fail(launcher_lost());
    if (now() >= until) {
      co_return fail(launcher_error("the launcher did not report the end of the sandbox"));
    }
    co_await wait_until(until);
  }
  co_return Result<>();
}

}  // namespace glovebox::node
