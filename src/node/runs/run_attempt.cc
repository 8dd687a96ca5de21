#include "node/runs/run_attempt.h"

#include <csignal>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

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
// When the sandbox has ended its pipes close; the bound is against what we did not think of.
constexpr milliseconds kDrainTime{1000};
constexpr milliseconds kLastWordsTime{1000};

std::chrono::microseconds between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::microseconds>(to - from);
}

Error launcher_lost() {
  return Error(Errc::kUnavailable, "the launcher went away while this run was under way");
}

// What the caller wrote down wrongly, as opposed to what failed on the way.
bool is_callers(int sys_errno) {
  return sys_errno == ENOENT || sys_errno == EACCES || sys_errno == ENOEXEC ||
         sys_errno == ENOTDIR || sys_errno == EISDIR || sys_errno == ELOOP || sys_errno == E2BIG ||
         sys_errno == ENAMETOOLONG;
}

}  // namespace

Attempt::Attempt(RunPlace place, const RunJob& job, RunSink& sink, std::unique_ptr<Sandbox> sandbox,
                 RunReport& report, Clock::time_point asked)
    : place_(place),
      job_(job),
      sink_(sink),
      report_(report),
      asked_(asked),
      signal_(place.io),
      sandbox_(std::move(sandbox)),
      link_(sandbox_->socket()) {
  sandbox_->on_end([this] { signal_.set(); });
  sandbox_->socket().wakes(&signal_);
  place_.watch.add(this);
  place_.pools.run_began();
}

Attempt::~Attempt() {
  place_.watch.remove(this);
  sandbox_->on_end({});
  if (has_network_) place_.networks.close(sandbox_->id(), {});
  sandbox_.reset();  // its room is free before we say that we are done
  place_.pools.run_ended();
}

void Attempt::look_at_clock(Clock::time_point time) {
  if (time >= wake_at_) signal_.set();
}

void Attempt::stop() {
  stopped_ = true;
  signal_.set();
}

Task<> Attempt::go(RuntimeKind runtime, std::shared_ptr<CancelFlag> cancel) {
  if (cancel) {
    cancel->on_cancel([this] { stop(); });
    if (cancel->cancelled()) stopped_ = true;
  }
  Result<> done = co_await run_through(runtime);
  if (cancel) cancel->on_cancel({});
  co_return done;
}

Task<> Attempt::run_through(RuntimeKind runtime) {
  report_.sandbox = sandbox_->id().str();
  report_.outcome.engine = job_.engine;
  report_.outcome.walls = sandbox_->walls();
  CO_TRY_OK(check_grade(job_.engine, sandbox_->walls(), job_.min_grade));
  way_ = job_.exec               ? StartWay::kProgram
         : sandbox_->make().warm ? StartWay::kWarmRuntime
                                 : StartWay::kColdRuntime;
  report_.warm = way_ == StartWay::kWarmRuntime;
  CO_TRY(StartFrames frames, StartFrames::make(job_, way_, runtime));
  deadline_ = now() + job_.limits.wall + place_.options.backstop;
  // All of it at once: the frames are there when the launcher lets the agent go on.
  sandbox_->take(job_.limits, job_.net.is_none() ? Sandbox::Network::kNone : Sandbox::Network::kUp);
  if (!job_.net.is_none()) open_network();
  sink_.set_may_have_run(true);
  link_.begin(std::move(frames));
  handed_over_ = now();
  if (Result<> started = co_await await_started(); !started) {
    Error why = std::move(started.error());
    CO_TRY_OK(co_await ended_before_it_began(std::move(why)));
  } else {
    CO_TRY_OK(co_await stream());
    co_await fetch_files();
  }
  co_return co_await finish();
}

Task<> Attempt::await_started() {
  std::size_t stored = 0;
  while (true) {
    CO_TRY(SandboxLink::Incoming incoming, co_await next_frame());
    if (std::holds_alternative<wire::FileStored>(incoming.frame)) {
      if (++stored > job_.files.size()) co_return fail(Errc::kProtocol, "a file too many");
    } else if (const auto* failed = std::get_if<wire::FileFailed>(&incoming.frame)) {
      sink_.set_may_have_run(false);
      co_return fail(
          Error(Errc::kInvalidArgument, "put a file in: " + failed->what, failed->sys_errno));
    } else if (const auto* refused = std::get_if<wire::StartFailed>(&incoming.frame)) {
      // The runtime that waited is broken, and not the caller's code.
      worth_another_ = way_ == StartWay::kWarmRuntime;
      sink_.set_may_have_run(false);
      co_return fail(start_failed(*refused));
    } else if (std::holds_alternative<wire::ProgramStarted>(incoming.frame)) {
      CO_TRY_OK(take_pipes(std::move(incoming.fds)));
      // Code that was waited for begins when it is there. We may read the agent's word of it only
      // when the code is over.
      started_ = way_ == StartWay::kWarmRuntime ? handed_over_ : now();
      report_.outcome.setup = between(asked_, started_);
      co_return Result<>();
    } else {
      co_return fail(Errc::kProtocol, "the sandbox answers something else");
    }
  }
}

Error Attempt::start_failed(const wire::StartFailed& failed) const {
  std::string what = failed.step;
  if (what == "execute" && job_.exec) what = "execute " + job_.exec->argv[0];
  Error error = Error::from_errno(what, failed.sys_errno).context("start the program");
  if (!is_callers(failed.sys_errno)) return error;
  return Error(Errc::kInvalidArgument, error.message(), failed.sys_errno);
}

Result<> Attempt::take_pipes(std::vector<UniqueFd> fds) {
  const bool has_results = way_ != StartWay::kProgram;
  if (fds.size() != (has_results ? 4u : 3u)) {
    return fail(Errc::kProtocol, "the program's streams did not come along");
  }
  for (const UniqueFd& fd : fds) TRY_OK(check_is_pipe(fd.get()));
  if (!job_.stdin_bytes.empty()) {
    stdin_ = WatchedFd(place_.io, std::move(fds[0]));
    stdin_.wakes(&signal_);
  }
  for (std::size_t i = 1; i < fds.size(); ++i) {
    WatchedFd& pipe = pipes_[i - 1];
    pipe = WatchedFd(place_.io, std::move(fds[i]));
    pipe.wakes(&signal_);
  }
  return {};
}

// A limit so short that it was reached before the program had started is an outcome like any other.
Task<> Attempt::ended_before_it_began(Error why) {
  if (stopped_) co_return Result<>();
  if (network_failed_ || why.code() != Errc::kUnavailable) co_return fail(std::move(why));
  // The socket was closed; why is the launcher's to say, which may not have noticed yet.
  const Clock::time_point until = now() + kLastWordsTime;
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
  worth_another_ = true;
  co_return fail(std::move(why));
}

// Until the program has ended and everything it printed has been read, or the sandbox is gone.
Task<> Attempt::stream() {
  buffer_ = std::make_unique_for_overwrite<char[]>(kBuffer);
  std::optional<Clock::time_point> drain_until;
  boost::asio::steady_timer pause(place_.io);
  while (true) {
    look_for_exit();
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
      if (last_word_ && job_.return_files.empty()) {
        // All is said, and nobody else can say more: what is left of it is torn down behind us.
        exited_ = wire::ProgramExited{*last_word_, 0, 0, 0};
        report_.outcome.wall = between(started_, now());
        break;
      }
    }
    if (more && floods()) {
      pause.expires_after(kFloodPause);
      co_await pause.async_wait(boost::asio::use_awaitable);
      continue;
    }
    if (more) {
      // Others have their turn; this guest writes faster than anybody reads.
      co_await boost::asio::post(place_.io, boost::asio::use_awaitable);
      continue;
    }
    if (drain_until && now() >= *drain_until) break;
    if (now() >= deadline_ + place_.options.backstop) break;
    co_await wait_until(drain_until.value_or(deadline_));
  }
  std::vector<std::string> last = results_.finish();
  co_await deliver_results(std::move(last));
  report_.results_truncated = results_.truncated();
  co_return Result<>();
}

void Attempt::look_for_exit() {
  if (exited_) return;
  // Both may have come at once: a program that ended in time is not late.
  if (sandbox_->ended()) sandbox_->socket().assume_readable();
  if (link_open_) {
    auto incoming = link_.receive();
    if (!incoming) {
      link_open_ = false;
    } else if (*incoming) {
      if (const auto* exited = std::get_if<wire::ProgramExited>(&(*incoming)->frame)) {
        exited_ = *exited;
      } else {
        link_open_ = false;  // it breaks the protocol, and is not listened to any more
      }
    }
  }
  if (over() && report_.outcome.wall.count() == 0) report_.outcome.wall = between(started_, now());
}

void Attempt::feed_stdin() {
  while (stdin_ && stdin_.writable()) {
    const std::string_view left = std::string_view(job_.stdin_bytes).substr(stdin_at_);
    const ssize_t put = left.empty() ? 0 : write_now(stdin_.fd(), left);
    if (put < 0 && errno == EAGAIN) return stdin_.wait_writable();
    // All is in, or the program has closed its end; what it did not want is dropped.
    if (put <= 0) return stdin_.close();
    stdin_at_ += static_cast<std::size_t>(put);
  }
}

// True: there is more right now.
boost::asio::awaitable<bool> Attempt::pump(Pipe which) {
  WatchedFd& pipe = pipes_[which];
  for (int i = 0; i < kReadsPerTurn && !stopped_; ++i) {
    // Nobody waits for a program that is over, and nobody would see the rest.
    if (which != kResults && floods() && over() && report_.outcome.truncated) {
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
    if (floods()) co_return true;
    // That was all for now; its end is looked for when the program has ended.
    if (bytes.size() < kBuffer && !over() && !last_word_) {
      pipe.wait_readable();
      co_return false;
    }
  }
  co_return true;
}

boost::asio::awaitable<void> Attempt::deliver(Pipe which, std::string_view bytes) {
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

boost::asio::awaitable<void> Attempt::deliver_results(std::vector<std::string> lines) {
  for (std::string& line : lines) {
    if (stopped_) co_return;
    if (const auto code = exit_line(line)) {
      last_word_ = code;
      continue;
    }
    const bool wanted = co_await sink_.on_result(line);
    if (!wanted) stopped_ = true;
    report_.results.push_back(std::move(line));
  }
}

bool Attempt::floods() const { return surplus_ > kMaxSurplus; }

// Side by side with the taking: what the program connects to waits until the gateway has it.
void Attempt::open_network() {
  has_network_ = true;
  place_.networks.open(sandbox_->id(), job_.project, job_.net, [this](const Error& why) {
    network_failed_ = why;
    signal_.set();
  });
}

// The gateway is asked for its last words before the sandbox goes.
void Attempt::begin_end() {
  if (std::exchange(has_network_, false)) {
    network_words_ = std::make_shared<Later<wire::NetworkFigures>>(place_.io);
    place_.networks.close(sandbox_->id(), [words = network_words_](wire::NetworkFigures figures) {
      words->set(std::move(figures));
    });
  }
  sandbox_->begin_destroy();
}

boost::asio::awaitable<void> Attempt::hear_of_network() {
  if (!network_words_) co_return;
  const Clock::time_point deadline = Clock::now() + place_.options.network_words_wait;
  Result<wire::NetworkFigures> heard =
      co_await Later<wire::NetworkFigures>::wait(network_words_, deadline);
  wire::NetworkFigures figures;
  figures.incomplete = true;
  report_.network = heard ? std::move(*heard) : std::move(figures);
}

Task<> Attempt::finish() {
  begin_end();
  CO_TRY_OK(co_await await_ended());
  co_await hear_of_network();
  report_.cancelled = stopped_ && !exited_;
  fill_outcome();
  co_return Result<>();
}

void Attempt::fill_outcome() {
  const Sandbox::Ended& ended = *sandbox_->ended();
  Outcome& outcome = report_.outcome;
  outcome.usage = ended.usage;
  outcome.oom_killed = ended.usage.oom_kills > 0;
  if (exited_) {
    outcome.signal = exited_->signal;
    outcome.exit_code = exited_->signal != 0 ? 128 + exited_->signal : exited_->code;
    if (outcome.usage.cpu.count() == 0) {
      outcome.usage.cpu = std::chrono::microseconds(exited_->cpu_us);
    }
    if (!outcome.usage.peak_memory_bytes && exited_->max_rss_bytes > 0) {
      outcome.usage.peak_memory_bytes = exited_->max_rss_bytes;
    }
    // Where no cgroup counts the time, the kernel's own limit of a process has spoken.
    outcome.timed_out = job_.limits.cpu_time.count() > 0 && exited_->signal == SIGXCPU;
  } else {
    outcome.timed_out = overdue_ || ended.reason == EndReason::kWallTimeout ||
                        ended.reason == EndReason::kCpuTimeout;
    outcome.signal = SIGKILL;
    outcome.exit_code = kExitKilled;
  }
  if (outcome.timed_out) outcome.exit_code = kExitTimeout;
}

Task<SandboxLink::Incoming> Attempt::next_frame() {
  bool looked_again = false;
  while (true) {
    (void)link_.send_some();  // if the other side is gone, receiving says so and has its last words
    auto incoming = link_.receive();
    if (!incoming) co_return fail(std::move(incoming.error()));
    if (*incoming) co_return std::move(**incoming);
    if (stopped_) co_return fail(Errc::kUnavailable, "the run was stopped");
    if (network_failed_) co_return fail(*network_failed_);
    if (sandbox_->lost()) co_return fail(launcher_lost());
    if (sandbox_->ended()) {
      // What it said before its end may lie there unread.
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

Task<> Attempt::await_ended() {
  const Clock::time_point until = now() + place_.options.backstop;
  while (!sandbox_->ended()) {
    if (sandbox_->lost()) co_return fail(launcher_lost());
    if (now() >= until) {
      co_return fail(Errc::kUnavailable, "the launcher does not say what became of the sandbox");
    }
    co_await wait_until(until);
  }
  co_return Result<>();
}

// Or until something has happened.
boost::asio::awaitable<void> Attempt::wait_until(Clock::time_point time) {
  wake_at_ = time;
  return signal_.wait();
}

}  // namespace glovebox::node
