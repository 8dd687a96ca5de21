#include "guest/agent/session/session_join.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/fd_message.h"
#include "guest/agent/run/runtime.h"
#include "sys/file.h"

namespace glovebox::agent {
namespace {

constexpr std::chrono::seconds kToArrive{3};

// It was forked from a zygote, which is not trusted.
bool is_sealed_runtime(pid_t pid, bool change_user) {
  const auto status = sys::read_small_file(AT_FDCWD, "/proc/" + std::to_string(pid) + "/status");
  return status && check_sealed(*status, change_user, kJoinedFilters, SealOf::kSession).has_value();
}

}  // namespace

bool SessionJoin::begin(std::uint64_t process, const wire::StartProcess& start,
                        const SessionUser& user) {
  SessionStreams streams;
  auto pair = seqpacket_pair();
  if (!pair || !make_streams(start, user, plan_.change_user, null_, streams)) return false;
  const int on = 1;
  if (::setsockopt(pair->ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      ::fcntl(pair->ours.get(), F_SETFL, O_NONBLOCK) != 0) {
    return false;
  }
  const StreamEnds& theirs = streams.theirs;
  const int descriptors[] = {theirs.in.get(),      theirs.out.get(),      theirs.err.get(),
                             theirs.results.get(), theirs.requests.get(), pair->theirs.get()};
  const wire::JoinRuntime join{++last_ticket_};
  if (!send_message(plan_.launcher.get(), wire::encode(wire::PlanMessage(join)), descriptors)) {
    return false;
  }
  WatchedFd socket(epoll_, key_, std::move(pair->ours));
  socket.want(EPOLLIN);
  pending_ = Pending{.process = process,
                     .ticket = last_ticket_,
                     .ours = std::move(streams.ours),
                     .socket = std::move(socket),
                     .deadline = AgentClock::now() + kToArrive};
  return true;
}

// How it ended, so that the next may be asked for. If it is not taken, the launcher waits a little.
void SessionJoin::notify_launcher(const wire::PlanMessage& message) {
  (void)send_message(plan_.launcher.get(), wire::encode(message));
}

// A process that arrives later finds its descriptors closed, and exits.
SessionJoin::Joined SessionJoin::failed() {
  const std::uint64_t process = pending_->process;
  pending_.reset();
  Joined joined;
  joined.process = process;
  return joined;
}

std::optional<SessionJoin::Joined> SessionJoin::on_ready() {
  if (!pending_) return std::nullopt;
  const auto ready = receive_message(pending_->socket.get(), 1, 0);
  if (!ready && ready.error().sys_errno() == EAGAIN) return std::nullopt;
  if (!ready || ready->bytes.size() != 1 || ready->sender_pid <= 1) {
    notify_launcher(wire::SandboxFailed{"the runtime died before it was ready", 0});
    return failed();
  }
  const pid_t pid = ready->sender_pid;
  if (!is_sealed_runtime(pid, plan_.change_user) || !limit_process(plan_, pid) ||
      !send_message(pending_->socket.get(), std::as_bytes(std::span("c", 1)))) {
    ::kill(pid, SIGKILL);
    notify_launcher(wire::SandboxFailed{"the runtime is not sealed", 0});
    return failed();
  }
  notify_launcher(wire::RuntimeReady{});
  Joined joined;
  joined.process = pending_->process;
  joined.pid = pid;
  joined.ours = std::move(pending_->ours);
  pending_.reset();
  return joined;
}

std::optional<SessionJoin::Joined> SessionJoin::on_refused(std::uint32_t ticket) {
  if (!pending_ || pending_->ticket != ticket) return std::nullopt;
  return failed();
}

std::optional<AgentClock::time_point> SessionJoin::next_deadline() const {
  if (!pending_) return std::nullopt;
  return pending_->deadline;
}

std::optional<SessionJoin::Joined> SessionJoin::on_time(AgentClock::time_point now) {
  if (!pending_ || pending_->deadline > now) return std::nullopt;
  notify_launcher(wire::SandboxFailed{"the runtime did not arrive in time", 0});
  return failed();
}

}  // namespace glovebox::agent
