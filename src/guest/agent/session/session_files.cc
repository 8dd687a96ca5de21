#include "guest/agent/session/session_files.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd_message.h"
#include "guest/agent/files/file_helper.h"
#include "guest/agent/session/session_child.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxHelpers = 32;
constexpr std::chrono::seconds kToCleanUp{2};
constexpr std::size_t kMaxStatus = 64 * 1024;
constexpr int kFilePipeBytes = 256 * 1024;

bool concerns_whole_disk(wire::FileOp op) {
  return op == wire::FileOp::kSnapshotOut || op == wire::FileOp::kSnapshotIn;
}

void make_absolute(std::string& path, const SessionUser& user) {
  if (path.empty() || path[0] == '/') return;
  path = user.home + (user.home.back() == '/' ? "" : "/") + path;
}

// Both sides of one helper's descriptors.
struct Ends {
  UniqueFd data, status, control;
};

bool make_file_pipe(UniqueFd& read_end, UniqueFd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  (void)::fcntl(ends[0], F_SETPIPE_SZ, kFilePipeBytes);  // a small one is slower, and does as well
  return true;
}

bool make_ends(wire::FileData data, Ends& ours, Ends& theirs) {
  if (data == wire::FileData::kToServer && !make_file_pipe(ours.data, theirs.data)) return false;
  if (data == wire::FileData::kFromServer && !make_file_pipe(theirs.data, ours.data)) return false;
  auto status = seqpacket_pair();
  auto control = seqpacket_pair();
  if (!status || !control) return false;
  ours.status = std::move(status->ours);
  theirs.status = std::move(status->theirs);
  ours.control = std::move(control->ours);
  theirs.control = std::move(control->theirs);
  return ::fcntl(ours.status.get(), F_SETFL, O_NONBLOCK) == 0 &&
         ::fcntl(ours.control.get(), F_SETFL, O_NONBLOCK) == 0;
}

// In the child. It has the agent's memory and nothing else of it: no descriptor, no capability
// beyond the user's; and as it is not dumpable, no process in the sandbox can read its memory.
[[noreturn]] void run_helper(const wire::FileRequest& request, const SessionUser& user,
                             bool change_user, int null, const HelperDescriptors& descriptors) {
  for (int fd = 0; fd < 3; ++fd) {
    if (::dup2(null, fd) < 0) ::_exit(71);
  }
  int kept[] = {descriptors.data, descriptors.status, descriptors.control, descriptors.upper};
  std::sort(std::begin(kept), std::end(kept));
  const SessionIdentity identity{user.uid, user.gid, user.groups.data(), user.groups.size(),
                                 change_user};
  if (close_all_but(3, kept, std::size(kept)) != 0 || be_killable_by_oom() != 0 ||
      become_session_user(identity) != 0 || keep_session_capabilities(identity) != 0) {
    ::_exit(71);
  }
  run_file_helper(request, descriptors);
}

}  // namespace

void SessionFiles::send_done(wire::RequestNumber request, int error, std::string message) {
  wire::FileDone done;
  done.request = request;
  done.sys_errno = error;
  done.message = std::move(message);
  outbox_.queue(done);
}

SessionFiles::Helper* SessionFiles::find(wire::RequestNumber request) {
  for (auto& [number, helper] : helpers_) {
    if (helper.request == request && !helper.killed_at) return &helper;
  }
  return nullptr;
}

void SessionFiles::start(const wire::FileRequest& asked) {
  if (find(asked.request) != nullptr) return;  // numbers are used once
  if (helpers_.size() >= kMaxHelpers || streams_.is_full()) {
    return send_done(asked.request, EAGAIN, "too many file requests at once");
  }
  // Requests about the whole disk are the platform's own: they run as uid 0, whatever passwd says.
  const auto user = concerns_whole_disk(asked.op)
                        ? std::optional(SessionUser{"root", 0, 0, "/", "", {}})
                        : look_up_user(asked.user);
  if (!user) return send_done(asked.request, EINVAL, std::string(wire::kNoSuchUser) + asked.user);
  wire::FileRequest request = asked;
  make_absolute(request.path, *user);
  make_absolute(request.target, *user);
  Ends ours;
  Ends theirs;
  if (!make_ends(wire::data_of(request.op), ours, theirs)) {
    return send_done(asked.request, errno, "create the helper's pipes");
  }
  HelperDescriptors descriptors;
  descriptors.data = theirs.data.get();
  descriptors.status = theirs.status.get();
  descriptors.control = theirs.control.get();
  descriptors.upper = concerns_whole_disk(request.op) ? plan_.upper.get() : -1;
  const pid_t pid = ::fork();
  if (pid < 0) return send_done(asked.request, errno, "start the helper");
  if (pid == 0) run_helper(request, *user, plan_.change_user, null_, descriptors);
  const std::uint64_t number = ++last_;
  Helper& helper = helpers_[number];
  helper.request = asked.request;
  helper.pid = pid;
  helper.status = WatchedFd(epoll_, key_ + number, std::move(ours.status));
  helper.control = std::move(ours.control);
  helper.data = std::move(ours.data);
  helper.way = wire::data_of(request.op);
  helper.status.want(EPOLLIN);
}

// The server's end of the data goes to the server, or a stream stands for it.
void SessionFiles::open(Helper& helper, const wire::FileOpened& opened) {
  if (!helper.data) return;
  if (streams_.carrier() == wire::Carrier::kDescriptors) {
    return outbox_.queue(opened, std::move(helper.data));
  }
  outbox_.queue(opened);
  streams_.add(helper.request, std::move(helper.data),
               helper.way == wire::FileData::kToServer ? wire::FramedStream::Carries::kOut
                                                       : wire::FramedStream::Carries::kIn);
}

void SessionFiles::commit(wire::RequestNumber request) {
  Helper* helper = find(request);
  if (helper == nullptr) return;
  (void)send_message(helper->control.get(), std::as_bytes(std::span("c", 1)));
}

void SessionFiles::abandon(wire::RequestNumber request) {
  if (Helper* helper = find(request)) return abandon(*helper);
  streams_.drop(request);  // it may still have what a helper left that has ended
}

void SessionFiles::abandon_all() {
  for (auto& [number, helper] : helpers_) abandon(helper);
}

void SessionFiles::abandon(Helper& helper) {
  if (helper.killed_at) return;
  // In this order: the end of its data must find no commit.
  helper.control.reset();
  helper.data.reset();
  streams_.drop(helper.request);
  helper.killed_at = AgentClock::now() + kToCleanUp;
}

void SessionFiles::on_event(std::uint64_t number) {
  const auto at = helpers_.find(number);
  if (at == helpers_.end()) return;
  Helper& helper = at->second;
  auto received = receive_message(helper.status.get(), kMaxStatus, 0);
  if (!received && received.error().sys_errno() == EAGAIN) return;
  auto frame = received ? wire::decode_session_frame(received->bytes)
                        : Result<wire::SessionFrame>(tl::unexpect, received.error());
  if (frame) {
    if (auto* opened = std::get_if<wire::FileOpened>(&*frame); opened && !helper.killed_at) {
      opened->request = helper.request;
      return open(helper, *opened);
    }
    if (auto* done = std::get_if<wire::FileDone>(&*frame)) {
      done->request = helper.request;
      if (!helper.killed_at) outbox_.queue(*done);
      return end(number);
    }
    return;
  }
  if (!helper.killed_at) send_done(helper.request, EIO, "the helper was killed");
  end(number);
}

void SessionFiles::end(std::uint64_t number) {
  const auto at = helpers_.find(number);
  if (at == helpers_.end()) return;
  if (at->second.pid > 0) ::kill(at->second.pid, SIGKILL);
  helpers_.erase(at);
}

void SessionFiles::reaped(pid_t pid) {
  for (auto& [number, helper] : helpers_) {
    if (helper.pid == pid) helper.pid = 0;  // its last words may still be in the socket
  }
}

std::optional<AgentClock::time_point> SessionFiles::next_deadline() const {
  std::optional<AgentClock::time_point> next;
  for (const auto& [number, helper] : helpers_) {
    if (helper.killed_at && (!next || *helper.killed_at < *next)) next = helper.killed_at;
  }
  return next;
}

void SessionFiles::on_time(AgentClock::time_point now) {
  for (auto at = helpers_.begin(); at != helpers_.end();) {
    const std::uint64_t number = at->first;
    const bool late = at->second.killed_at && *at->second.killed_at <= now;
    ++at;
    if (late) end(number);
  }
}

}  // namespace glovebox::agent
