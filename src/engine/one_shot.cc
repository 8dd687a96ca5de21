#include "engine/one_shot.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "engine/guest_link.h"
#include "model/program_refusal.h"

namespace glovebox::engine {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::microseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
}

class OneShot {
 public:
  OneShot(Engine& engine, const RunRequest& request, const RunHooks& hooks)
      : engine_(engine), request_(request), hooks_(hooks) {}

  Result<RunResult> run();

 private:
  Result<> create();
  Result<> put_files_and_start();
  Result<> await_created();
  Result<> give_network();
  Result<> await_started();
  Result<> ended_before_it_began(Error why);
  Result<> stream();
  Result<> fetch_files();
  Result<> finish();

  Result<> send_start();
  void on_output(std::size_t which);
  void on_results();
  void feed_stdin();
  void on_link();
  Result<> on_event();
  bool drained() const { return !streams_[0] && !streams_[1] && !results_; }

  Engine& engine_;
  const RunRequest& request_;
  const RunHooks& hooks_;
  std::unique_ptr<Instance> instance_;
  std::optional<GuestLink> link_;
  Clock::time_point asked_ = Clock::now();
  Clock::time_point started_;
  UniqueFd guest_stdin_;
  UniqueFd streams_[2];  // the guest's stdout and stderr, or its terminal as the first
  UniqueFd results_;     // of a runtime
  std::string stdin_left_;
  bool stdin_ended_ = false;
  bool sealed_ = false;
  bool link_open_ = true;
  bool destroying_ = false;
  bool wants_stop_ = false;
  std::optional<wire::ProgramExited> exited_;
  std::optional<Instance::Ended> ended_;
  RunResult result_;
};

Result<RunResult> OneShot::run() {
  if (auto created = create(); !created) {
    TRY_OK(ended_before_it_began(std::move(created.error())));
  }
  TRY_OK(stream());
  Result<> fetched = fetch_files();
  TRY_OK(finish());
  if (!fetched) result_.out_failure = std::move(fetched.error());
  result_.ended_instance = std::move(instance_);
  return std::move(result_);
}

Result<> OneShot::create() {
  TRY(instance_,
      engine_.begin_create(request_.sandbox,
                           request_.has_network ? NetworkStage::kUp : NetworkStage::kNone));
  link_.emplace(instance_->link());
  // All of it is sent at once, while the sandbox is being made, and waits in its socket. If the
  // making fails, sending fails too, and the launcher's word is the better explanation.
  Result<> sent = put_files_and_start();
  TRY_OK(await_created());
  if (!sent) return sent;
  if (request_.has_network) TRY_OK(give_network());
  result_.outcome.engine = engine_.kind();
  result_.outcome.walls = WallSet(instance_->walls().bits() | request_.extra_walls.bits());
  return await_started();
}

Result<> OneShot::await_created() {
  pollfd events[] = {{instance_->event_fd(), POLLIN, 0}, {hooks_.stop_fd, POLLIN, 0}};
  while (::poll(events, 2, -1) < 0 && errno == EINTR) {
  }
  if (events[0].revents == 0) return fail(Error(Errc::kUnavailable, "interrupted", EINTR));
  TRY_OK(engine_.finish_create(*instance_));
  sealed_ = true;
  return {};
}

Result<> OneShot::give_network() {
  TRY(Instance::Lent lent, instance_->lend_network());
  return hooks_.on_network(std::move(lent));
}

// A limit so short that it was reached before the program had started is an outcome like any other.
Result<> OneShot::ended_before_it_began(Error why) {
  if (!sealed_ || why.code() != Errc::kUnavailable) return fail(std::move(why));
  TRY(ended_, instance_->ended());
  if (ended_->reason != EndReason::kWallTimeout && ended_->reason != EndReason::kCpuTimeout) {
    return fail(std::move(why));
  }
  return {};
}

Result<> OneShot::put_files_and_start() {
  for (const FileIn& file : request_.files_in) TRY_OK(link_->put(file));
  // With a demand on the walls, the program waits until they are known.
  if (request_.min_grade) return {};
  return send_start();
}

Result<> OneShot::send_start() {
  const std::string& job = request_.runtime_job;
  if (job.size() > wire::kMaxJobBytes) {
    return fail(Errc::kInvalidArgument, "the code and its arguments are too long");
  }
  for (std::size_t at = 0; at < job.size(); at += wire::kMaxChunk) {
    TRY_OK(link_->send(wire::JobChunk{job.substr(at, wire::kMaxChunk)}));
  }
  return link_->send(wire::StartProgram{request_.exec, !job.empty()});
}

Result<> OneShot::await_started() {
  if (request_.min_grade) {
    const Grade stood = grade_of(engine_.kind(), instance_->walls());
    if (stood < *request_.min_grade) {
      return fail(Errc::kPolicy, "the walls of this sandbox reach grade '" +
                                     std::string(grade_name(stood)) + "', below the required '" +
                                     std::string(grade_name(*request_.min_grade)) +
                                     "' (see `glovebox doctor`)");
    }
    TRY_OK(send_start());
  }
  std::size_t stored = 0;
  while (true) {
    TRY(GuestLink::Incoming incoming, link_->receive());
    if (std::holds_alternative<wire::FileStored>(incoming.frame)) {
      if (++stored > request_.files_in.size())
        return fail(Errc::kProtocol, "more files stored than were sent");
    } else if (const auto* failed = std::get_if<wire::FileFailed>(&incoming.frame)) {
      return fail(Errc::kInvalidArgument, "copy a file in: " + failed->what);
    } else if (const auto* refused = std::get_if<wire::StartFailed>(&incoming.frame)) {
      const std::string& program = request_.exec.argv[0];
      const bool is_program = refused->step == wire::kExecuteStep;
      if (is_program) {
        if (auto error = refuse_to_execute(program, refused->sys_errno)) {
          return fail(std::move(*error));
        }
      }
      std::string what = is_program ? "execute " + program : refused->step;
      if (what == wire::kEnterDirectoryStep) what += " " + request_.exec.workdir;
      return fail(Error::from_errno(what, refused->sys_errno).context("start the program"));
    } else if (std::holds_alternative<wire::ProgramStarted>(incoming.frame)) {
      const bool terminal = request_.exec.terminal.has_value();
      const bool runtime = !request_.runtime_job.empty();
      if (incoming.fds.size() != (terminal ? 1u : runtime ? 4u : 3u)) {
        return fail(Errc::kProtocol, "the sandbox's agent did not send the program's streams");
      }
      for (const UniqueFd& fd : incoming.fds) {
        ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
      }
      if (terminal) {
        guest_stdin_.reset(::fcntl(incoming.fds[0].get(), F_DUPFD_CLOEXEC, 3));
        streams_[0] = std::move(incoming.fds[0]);
      } else {
        guest_stdin_ = std::move(incoming.fds[0]);
        streams_[0] = std::move(incoming.fds[1]);
        streams_[1] = std::move(incoming.fds[2]);
        if (runtime) results_ = std::move(incoming.fds[3]);
      }
      result_.outcome.setup = since(asked_);
      started_ = Clock::now();
      if (hooks_.stdin_fd < 0) guest_stdin_.reset();
      return {};
    } else {
      return fail(Errc::kProtocol, "unexpected answer from the sandbox's agent");
    }
  }
}

// Until the program has ended and everything it printed has been read, or the sandbox is gone.
Result<> OneShot::stream() {
  while (true) {
    const bool over = exited_ || ended_ || !link_open_;
    if (over && drained()) break;
    const bool read_stdin = guest_stdin_ && !stdin_ended_ && stdin_left_.empty() && !over;
    enum { kOut, kErr, kResults, kStdin, kGuestStdin, kLink, kEvent, kStop, kResize, kCount };
    pollfd events[kCount];
    events[kOut] = {streams_[0].get(), POLLIN, 0};
    events[kErr] = {streams_[1].get(), POLLIN, 0};
    events[kResults] = {results_.get(), POLLIN, 0};
    events[kStdin] = {read_stdin ? hooks_.stdin_fd : -1, POLLIN, 0};
    events[kGuestStdin] = {guest_stdin_ && !stdin_left_.empty() ? guest_stdin_.get() : -1, POLLOUT,
                           0};
    events[kLink] = {link_open_ && !exited_ ? instance_->link() : -1, POLLIN, 0};
    events[kEvent] = {ended_ ? -1 : instance_->event_fd(), POLLIN, 0};
    events[kStop] = {result_.stopped ? -1 : hooks_.stop_fd, POLLIN, 0};
    events[kResize] = {hooks_.resize_fd, POLLIN, 0};
    // After the sandbox's end its pipes are closed; the bound is against what we did not think of.
    const int polled = ::poll(events, kCount, ended_ ? 1000 : -1);
    if (polled < 0 && errno == EINTR) continue;
    if (polled < 0) return fail(Error::from_errno("poll"));
    if (polled == 0) break;
    if (events[kOut].revents != 0) on_output(0);
    if (events[kErr].revents != 0) on_output(1);
    if (events[kResults].revents != 0) on_results();
    if (events[kStdin].revents != 0) {
      char buffer[65536];
      const ssize_t got = ::read(hooks_.stdin_fd, buffer, sizeof buffer);
      stdin_left_.assign(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
      if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) stdin_ended_ = true;
      if (hooks_.on_input && !hooks_.on_input(stdin_left_)) wants_stop_ = true;
      if (stdin_ended_ && !request_.exec.terminal) guest_stdin_.reset();
    }
    if (!stdin_left_.empty()) feed_stdin();
    if (events[kLink].revents != 0) on_link();
    if (events[kEvent].revents != 0) TRY_OK(on_event());
    if (events[kStop].revents != 0) wants_stop_ = true;
    if (wants_stop_ && !result_.stopped) {
      result_.stopped = true;
      destroying_ = true;
      TRY_OK(instance_->begin_destroy());
    }
    if (events[kResize].revents != 0) (void)link_->send(wire::ResizeTerminal{hooks_.on_resize()});
    // Nothing to fetch: the sandbox is ended while the last output is read.
    if (exited_ && !destroying_ && request_.files_out.empty()) {
      destroying_ = true;
      TRY_OK(instance_->begin_destroy());
    }
  }
  return {};
}

void OneShot::on_output(std::size_t which) {
  char buffer[65536];
  const ssize_t got = ::read(streams_[which].get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return streams_[which].reset();  // EIO is how a terminal says it is closed
  const auto size = static_cast<std::uint64_t>(got);
  std::uint64_t shown = size;
  if (request_.output_limit) {
    const std::uint64_t before = result_.outcome.output_bytes;
    const std::uint64_t left =
        *request_.output_limit > before ? *request_.output_limit - before : 0;
    shown = std::min(shown, left);
    if (shown < size) result_.outcome.truncated = true;
  }
  result_.outcome.output_bytes += size;
  if (shown == 0 || !hooks_.on_output) return;
  if (!hooks_.on_output(which == 0 ? Stream::kOut : Stream::kErr,
                        std::string_view(buffer, static_cast<std::size_t>(shown)))) {
    streams_[which].reset();  // the reader is gone; the program's next write tells it
  }
}

// Read to the end in any case, so that the guest is not held up; kept as far as there is room.
void OneShot::on_results() {
  char buffer[65536];
  const ssize_t got = ::read(results_.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return results_.reset();
  const std::size_t room = kMaxResultBytes - std::min(result_.results.size(), kMaxResultBytes);
  result_.results.append(buffer, std::min(static_cast<std::size_t>(got), room));
}

void OneShot::feed_stdin() {
  const ssize_t put = ::write(guest_stdin_.get(), stdin_left_.data(), stdin_left_.size());
  if (put < 0 && errno != EAGAIN && errno != EINTR) {
    stdin_left_.clear();  // the program has closed its end; what it did not want is dropped
    guest_stdin_.reset();
  } else if (put > 0) {
    stdin_left_.erase(0, static_cast<std::size_t>(put));
  }
}

void OneShot::on_link() {
  auto incoming = link_->receive();
  if (!incoming) {
    link_open_ = false;
    return;
  }
  if (const auto* exited = std::get_if<wire::ProgramExited>(&incoming->frame)) {
    exited_ = *exited;
    result_.outcome.wall = since(started_);
  }
}

Result<> OneShot::on_event() {
  TRY(ended_, instance_->ended());
  if (!exited_) result_.outcome.wall = since(started_);
  // Both may have become readable at once: a program that ended in time is not late.
  if (!exited_ && link_open_) on_link();
  return {};
}

Result<> OneShot::fetch_files() {
  if (request_.files_out.empty()) return {};
  for (const FileOut& file : request_.files_out) {
    if (ended_ || !exited_) {
      return fail(Errc::kUnavailable,
                  "copy out " + file.guest.str() + ": the sandbox ended before its program did");
    }
    TRY_OK(link_->get(file, request_.sandbox.limits.disk_bytes));
  }
  return {};
}

Result<> OneShot::finish() {
  if (!ended_) {
    if (!destroying_) TRY_OK(instance_->begin_destroy());
    TRY(ended_, instance_->ended());
  }
  Outcome& outcome = result_.outcome;
  if (!exited_ && outcome.wall.count() == 0) outcome.wall = since(started_);
  outcome.usage = ended_->usage;
  outcome.oom_killed = ended_->usage.oom_kills > 0;
  if (exited_) {
    outcome.signal = exited_->signal;
    outcome.exit_code = exited_->signal != 0 ? 128 + exited_->signal : exited_->code;
    if (outcome.usage.cpu.count() == 0)
      outcome.usage.cpu = std::chrono::microseconds(exited_->cpu_us);
    if (!outcome.usage.peak_memory_bytes && exited_->max_rss_bytes > 0) {
      outcome.usage.peak_memory_bytes = exited_->max_rss_bytes;
    }
    // Where no cgroup counts the time, the kernel's own limit of a process has spoken.
    outcome.cpu_exceeded =
        ended_by_cpu_rlimit(request_.sandbox.limits, exited_->signal, exited_->cpu_us);
    outcome.timed_out = outcome.cpu_exceeded;
  } else {
    outcome.cpu_exceeded = ended_->reason == EndReason::kCpuTimeout;
    outcome.timed_out = ended_->reason == EndReason::kWallTimeout || outcome.cpu_exceeded;
    outcome.signal = SIGKILL;
    outcome.exit_code = kExitKilled;
  }
  if (outcome.timed_out) outcome.exit_code = kExitTimeout;
  return {};
}

}  // namespace

Result<RunResult> run_once(Engine& engine, const RunRequest& request, const RunHooks& hooks) {
  return OneShot(engine, request, hooks).run();
}

}  // namespace glovebox::engine
