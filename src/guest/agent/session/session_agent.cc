#include "guest/agent/session/session_agent.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <deque>

#include "base/fd_message.h"
#include "base/frame_link.h"
#include "guest/agent/init/guest_ids.h"
#include "guest/agent/run/guest_child.h"
#include "guest/agent/session/framed_streams.h"
#include "guest/agent/session/session_files.h"
#include "guest/agent/session/session_join.h"
#include "guest/agent/session/session_outbox.h"
#include "guest/agent/session/session_ports.h"
#include "guest/agent/session/session_process.h"
#include "guest/agent/session/session_start.h"
#include "guest/agent/session/session_table.h"
#include "sys/own_network.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxRunning = 512;
constexpr std::size_t kMaxWaitingToJoin = 16;
constexpr int kFramesAtOnce = 32;

// An epoll key: the topic in its highest byte, then the owner, then a StreamFd of a process.
enum Topic : std::uint64_t {
  kLink = 1ull << 56,
  kLauncher = 2ull << 56,
  kChildren = 3ull << 56,
  kProcess = 4ull << 56,
  kFile = 5ull << 56,
  kPort = 6ull << 56,
  kJoin = 7ull << 56,
  kStream = 8ull << 56,
  kTopicMask = 0xffull << 56,
};

class SessionAgent {
 public:
  explicit SessionAgent(SessionPlan plan)
      : plan_(std::move(plan)),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        null_(::open("/dev/null", O_RDWR | O_CLOEXEC)),
        frames_(plan_.link.get(), wire::kMaxSessionFrame),
        outbox_(frames_),
        streams_(epoll_.get(), kStream),
        files_(plan_, epoll_.get(), kFile, null_.get(), outbox_, streams_),
        ports_(epoll_.get(), kPort, outbox_, streams_),
        join_(plan_, epoll_.get(), kJoin, null_.get()) {}

  int run();

 private:
  struct WaitingToJoin {
    std::uint64_t key;
    wire::StartProcess start;
  };

  bool prepare();
  bool on_event(std::uint64_t key);
  void on_time();
  int wait_at_most() const;
  bool on_link();
  bool on_launcher();
  void on_process(std::uint64_t key);
  bool flush();
  std::optional<wire::SessionFrame> next_frame();
  void reap();
  static void kill_all();
  void note_end(pid_t pid, int status, const rusage& usage);

  void handle(const wire::Hello& hello);
  void handle(const wire::StartProcess& start);
  void handle(const wire::Input& input);
  void handle(const wire::CloseInput& close) { processes_.handle(close); }
  void handle(const wire::Subscribe& subscribe) { processes_.handle(subscribe); }
  void handle(const wire::Unsubscribe& unsubscribe) { processes_.handle(unsubscribe); }
  void handle(const wire::Acknowledge& acknowledge) { processes_.handle(acknowledge); }
  void handle(const wire::SetLossy& lossy) { processes_.handle(lossy); }
  void handle(const wire::SignalProcess& signal) { processes_.handle(signal); }
  void handle(const wire::ResizeProcess& resize) { processes_.handle(resize); }
  void handle(const wire::ForgetProcess& forget);
  void handle(const wire::FileRequest& request) { files_.start(request); }
  void handle(const wire::CommitFile& commit) {
    if (!streams_.commit_later(commit.request)) files_.commit(commit.request);
  }
  void handle(const wire::AbandonFile& abandon) { files_.abandon(abandon.request); }
  void handle(const wire::ConnectPort& connect) { ports_.connect(connect); }
  void handle(const wire::EndProcesses& end);
  template <wire::FrameOfStream Frame>
  void handle(const Frame& frame) {
    if (!streams_.on_frame(frame)) files_.abandon(frame.request);
  }

  void start_cold(SessionProcess& process, const wire::StartProcess& start,
                  const SessionUser& user);
  void start_warm(SessionProcess& process, const wire::StartProcess& start,
                  const SessionUser& user);
  void on_joined(std::optional<SessionJoin::Joined> joined);
  bool conclude_start(SessionProcess& process);
  void refuse_start(SessionProcess& process, int error, const std::string& step);

  SessionPlan plan_;
  UniqueFd epoll_;
  UniqueFd null_;  // as it was before any guest
  WatchedFd link_;
  WatchedFd launcher_;
  WatchedFd children_watched_;
  FrameLink frames_;
  Outbox outbox_;
  FramedStreams streams_;
  bool is_streams_turn_ = false;  // to send a frame
  SessionFiles files_;
  SessionPorts ports_;
  SessionJoin join_;
  ProcessTable processes_{kProcess};
  std::deque<WaitingToJoin> waiting_to_join_;
  bool children_changed_ = false;
  // The requests for which all processes are being ended.
  std::vector<wire::RequestNumber> ending_;
};

// ---- the loop ------------------------------------------------------------------------------

bool SessionAgent::prepare() {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  // Each process of the guest needs a handful of descriptors here.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &files);
  }
  const auto watch = [&](Topic topic, int fd) {
    return WatchedFd(epoll_.get(), topic, UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)));
  };
  UniqueFd child_events(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!epoll_ || !null_ || !child_events || ::fcntl(plan_.link.get(), F_SETFL, O_NONBLOCK) != 0 ||
      ::fcntl(plan_.launcher.get(), F_SETFL, O_NONBLOCK) != 0) {
    return false;
  }
  link_ = watch(kLink, plan_.link.get());
  launcher_ = watch(kLauncher, plan_.launcher.get());
  children_watched_ = WatchedFd(epoll_.get(), kChildren, std::move(child_events));
  return link_.want(EPOLLIN) && launcher_.want(EPOLLIN) && children_watched_.want(EPOLLIN);
}

int SessionAgent::run() {
  if (!prepare()) return 1;
  epoll_event events[64];
  while (true) {
    const int count = ::epoll_wait(epoll_.get(), events, std::size(events), wait_at_most());
    if (count < 0 && errno != EINTR) return 1;
    for (int i = 0; i < count; ++i) {
      if (!on_event(events[i].data.u64)) return 0;
    }
    // Last: a process that joined must be known before its end is handled.
    if (std::exchange(children_changed_, false)) reap();
    on_time();
    for (const wire::RequestNumber request : streams_.take_commits()) files_.commit(request);
    if (!flush()) return 0;
  }
}

bool SessionAgent::on_event(std::uint64_t key) {
  const std::uint64_t which = key & ~kTopicMask;
  switch (key & kTopicMask) {
    case kLink:
      return on_link();
    case kLauncher:
      return on_launcher();
    case kChildren: {
      signalfd_siginfo ignored;
      while (::read(children_watched_.get(), &ignored, sizeof ignored) > 0) {
      }
      children_changed_ = true;
      return true;
    }
    case kProcess:
      on_process(key);
      return true;
    case kFile:
      files_.on_event(which);
      return true;
    case kPort:
      ports_.on_event(which);
      return true;
    case kJoin:
      on_joined(join_.on_ready());
      return true;
    case kStream:
      streams_.on_event(which);
      return true;
    default:
      return true;
  }
}

int SessionAgent::wait_at_most() const {
  std::optional<AgentClock::time_point> next;
  for (const auto& deadline :
       {files_.next_deadline(), ports_.next_deadline(), join_.next_deadline()}) {
    if (deadline && (!next || *deadline < *next)) next = deadline;
  }
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - AgentClock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void SessionAgent::on_time() {
  const AgentClock::time_point now = AgentClock::now();
  files_.on_time(now);
  ports_.on_time(now);
  on_joined(join_.on_time(now));
}

// False: the connection to the server has ended.
bool SessionAgent::on_link() {
  for (int i = 0; i < kFramesAtOnce && !outbox_.is_long(); ++i) {
    const auto received = frames_.receive(0);
    if (!received) {
      if (received.error().sys_errno() == EAGAIN) return true;
      // A malformed frame is ignored.
      if (received.error().code() == Errc::kProtocol) continue;
      return false;
    }
    if (received->bytes.empty()) return false;
    const auto frame = wire::decode_server_frame(received->bytes);
    if (!frame) continue;
    std::visit([this](const auto& one) { handle(one); }, *frame);
  }
  return true;
}

bool SessionAgent::on_launcher() {
  const auto received = receive_message(plan_.launcher.get(), wire::kMaxPlanMessage, 0);
  if (!received) return received.error().sys_errno() == EAGAIN;
  if (received->bytes.empty()) return false;
  const auto message = wire::decode_plan_message(received->bytes);
  if (message && std::holds_alternative<wire::RaiseNetwork>(*message)) {
    (void)sys::raise_own_network();  // else nothing is reachable, as before
    return true;
  }
  const auto* refused = message ? std::get_if<wire::JoinRefused>(&*message) : nullptr;
  if (refused != nullptr) on_joined(join_.on_refused(refused->ticket));
  return true;
}

void SessionAgent::on_process(std::uint64_t key) {
  const std::uint64_t part = key & ((1u << ProcessTable::kStreamBits) - 1);
  SessionProcess* process = processes_.find_by_key(key - part);
  if (process == nullptr) return;
  if (static_cast<StreamFd>(part) == StreamFd::kFailure) {
    conclude_start(*process);
    return;
  }
  process->on_event(static_cast<StreamFd>(part));
  processes_.queue_for_sending(*process);
}

// Of processes and streams in turn.
std::optional<wire::SessionFrame> SessionAgent::next_frame() {
  is_streams_turn_ = !is_streams_turn_;
  auto frame = is_streams_turn_ ? streams_.next_frame() : processes_.next_frame();
  if (frame) return frame;
  return is_streams_turn_ ? processes_.next_frame() : streams_.next_frame();
}

// Sends as much as the socket takes: first the answers, then a piece of each process and stream.
bool SessionAgent::flush() {
  while (true) {
    const Outbox::Sent sent = outbox_.send();
    if (sent == Outbox::Sent::kClosed) return false;
    if (sent == Outbox::Sent::kSocketIsFull) {
      link_.want(outbox_.is_long() ? EPOLLOUT : EPOLLIN | EPOLLOUT);
      return true;
    }
    auto frame = next_frame();
    if (!frame) {
      link_.want(EPOLLIN);
      return true;
    }
    outbox_.queue(*frame);
  }
}

void SessionAgent::reap() {
  pid_t pid = 0;
  do {
    int status = 0;
    rusage usage{};
    pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid > 0) note_end(pid, status, usage);
  } while (pid > 0);
  const bool is_none_left = pid < 0 && errno == ECHILD;
  processes_.enforce_bounds();
  if (ending_.empty()) return;
  // Also what was started meanwhile. Orphans become children of PID 1 and are waited for here.
  if (!is_none_left) return kill_all();
  for (const wire::RequestNumber request : std::exchange(ending_, {})) {
    outbox_.queue(wire::FileDone{request, 0, {}, {}});
  }
}

// All of the sandbox and nothing else: the agent of a session is PID 1 of the sandbox's own pid
// namespace. The kernel signals all at once, so no process can start another to survive.
void SessionAgent::kill_all() { (void)::kill(-1, SIGKILL); }

void SessionAgent::note_end(pid_t pid, int status, const rusage& usage) {
  files_.reaped(pid);
  SessionProcess* process = processes_.reaped(pid);
  if (process == nullptr) return;  // an orphan
  if (process->failure && !conclude_start(*process)) return;
  process->ended(end_of(status, usage));
  processes_.has_ended(*process);
  processes_.queue_for_sending(*process);
}

// ---- processes -----------------------------------------------------------------------------

void SessionAgent::handle(const wire::Hello& hello) {
  ending_.clear();
  files_.abandon_all();
  ports_.drop_all();
  outbox_.discard();
  frames_.send_mark(wire::mark_of(hello.epoch));
  streams_.begin(frames_.is_byte_stream() ? wire::Carrier::kFrames : hello.carrier);
  processes_.for_each([this](SessionProcess& process) {
    process.unsubscribe_all();
    process.discard_unsent_exit();
    outbox_.queue(process.describe());
  });
  outbox_.queue(wire::Welcome{hello.epoch, streams_.carrier()});
}

void SessionAgent::handle(const wire::StartProcess& start) {
  const auto refuse = [&](int error, const char* step) {
    outbox_.queue(wire::StartRefused{start.process, error, step});
  };
  if (processes_.find(start.process) != nullptr)
    return refuse(EEXIST, "a process with this number exists already");
  if (processes_.running() >= kMaxRunning) {
    return refuse(EAGAIN, "too many processes");
  }
  const auto user = look_up_user(start.user);
  if (!user) return refuse(EINVAL, "no such user");
  if (!plan_.change_user && user->uid != kGuestUid) {
    return refuse(EPERM,
                  "this sandbox has only one user, no root and no sudo: it mounts a directory of "
                  "the host, or its server's user has no subordinate ids (`glovebox doctor`)");
  }
  SessionProcess& process = processes_.add(start, epoll_.get());
  const bool warm = start.kind == wire::ProcessKind::kWarmContext && user->uid == kGuestUid;
  if (warm && join_.busy() && waiting_to_join_.size() < kMaxWaitingToJoin) {
    waiting_to_join_.push_back({process.key(), start});
  } else if (warm && !join_.busy()) {
    start_warm(process, start, *user);
  } else {
    start_cold(process, start, *user);
  }
}

void SessionAgent::start_warm(SessionProcess& process, const wire::StartProcess& start,
                              const SessionUser& user) {
  if (!join_.begin(process.key(), start, user)) return start_cold(process, start, user);
  waiting_to_join_.push_front({process.key(), start});  // if none arrives, it is started cold
}

// The first in the queue is the one that the launcher was asked for.
void SessionAgent::on_joined(std::optional<SessionJoin::Joined> joined) {
  if (!joined || waiting_to_join_.empty()) return;
  const WaitingToJoin asked = std::move(waiting_to_join_.front());
  waiting_to_join_.pop_front();
  SessionProcess* process = processes_.find_by_key(asked.key);
  if (process != nullptr && joined->pid) {
    process->take_streams(std::move(joined->ours));
    process->take_process(*joined->pid, UniqueFd(), true);
    processes_.has_pid(*process);
    outbox_.queue(
        wire::ProcessStarted{process->number(), static_cast<std::uint32_t>(*joined->pid), true});
    processes_.queue_for_sending(*process);
  } else if (process != nullptr) {
    const auto user = look_up_user(asked.start.user);
    if (user) {
      start_cold(*process, asked.start, *user);
    } else {
      refuse_start(*process, EINVAL, "no such user");
    }
  }
  while (!waiting_to_join_.empty() && !join_.busy()) {
    const WaitingToJoin next = std::move(waiting_to_join_.front());
    waiting_to_join_.pop_front();
    SessionProcess* waiting = processes_.find_by_key(next.key);
    const auto user = look_up_user(next.start.user);
    if (waiting != nullptr && user) start_warm(*waiting, next.start, *user);
    if (waiting != nullptr && !user) refuse_start(*waiting, EINVAL, "no such user");
  }
}

void SessionAgent::start_cold(SessionProcess& process, const wire::StartProcess& start,
                              const SessionUser& user) {
  SessionStreams streams;
  if (!make_streams(start, user, plan_.change_user, null_.get(), streams)) {
    return refuse_start(process, errno, "create standard streams");
  }
  ForkedProgram forked = fork_program(plan_, start, user, streams.theirs);
  if (!forked.step.empty()) return refuse_start(process, forked.error, forked.step);
  process.take_streams(std::move(streams.ours));
  process.take_process(forked.pid, std::move(forked.failure), false);
  processes_.has_pid(process);
}

void SessionAgent::refuse_start(SessionProcess& process, int error, const std::string& step) {
  outbox_.queue(wire::StartRefused{process.number(), error, step});
  processes_.forget(process.key());
}

// False: it could not be started, and is forgotten.
bool SessionAgent::conclude_start(SessionProcess& process) {
  GuestFailure failure{};
  const ssize_t got = ::read(process.failure.get(), &failure, sizeof failure);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  process.failure.close();
  if (got == static_cast<ssize_t>(sizeof failure)) {
    processes_.forget_pid(process.pid());  // it is about to end by itself
    refuse_start(process, failure.error, guest_step_name(true, failure.step));
    return false;
  }
  outbox_.queue(
      wire::ProcessStarted{process.number(), static_cast<std::uint32_t>(process.pid()), false});
  processes_.queue_for_sending(process);
  return true;
}

void SessionAgent::handle(const wire::Input& input) {
  SessionProcess* process = processes_.find(input.process);
  if (process == nullptr) {
    return outbox_.queue(wire::InputTaken{input.process, input.stream, 0, true});
  }
  process->write_input(input);
  processes_.queue_for_sending(*process);
}

void SessionAgent::handle(const wire::EndProcesses& end) {
  if (::getpid() != 1) {  // kill(-1) would reach beyond the sandbox
    return outbox_.queue(wire::FileDone{end.request, ENOTSUP, "there is no pid namespace", {}});
  }
  if (ending_.size() < kMaxRunning) ending_.push_back(end.request);
  kill_all();
  children_changed_ = true;
}

void SessionAgent::handle(const wire::ForgetProcess& wanted) {
  SessionProcess* process = processes_.find(wanted.process);
  if (process != nullptr && process->has_ended()) processes_.forget(process->key());
}

}  // namespace

int serve_session(SessionPlan plan) { return SessionAgent(std::move(plan)).run(); }

}  // namespace glovebox::agent
