#include "guest/agent/run/serve.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "base/assert.h"
#include "base/fd_message.h"
#include "base/write_all.h"
#include "guest/agent/run/find_files.h"
#include "guest/agent/run/guest_files.h"
#include "guest/agent/run/kept_runtime.h"
#include "guest/agent/run/process_home.h"
#include "guest/agent/run/program.h"
#include "guest/agent/run/runtime.h"
#include "wire/guest/guest_frames.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {
namespace {

// How long a program that has said its last word may take to be gone.
constexpr int kToExitMs = 2000;

class Agent {
 public:
  explicit Agent(ServePlan plan, int launcher = -1, int last_pid = -1)
      : plan_(std::move(plan)), launcher_(launcher), last_pid_(last_pid) {}

  int run();
  // Whether the launcher has ended the call and nothing of it runs.
  bool is_over() const { return recycles_ && ended_well_; }
  NextCall take_next() { return {std::move(plan_), std::move(scratch_)}; }

 private:
  bool is_reusable() const { return launcher_ >= 0; }
  Result<> on_link();
  Result<> on_launcher();
  bool has_no_children() const;
  Result<> on_frame();
  Result<> handle(const wire::PutFile& put);
  Result<> handle(const wire::FileChunk& chunk);
  Result<> handle(const wire::FileEnd&);
  Result<> handle(const wire::GetFile& get);
  Result<> handle(const wire::StartProgram& start);
  Result<> handle(const wire::JobChunk& chunk);
  Result<> handle(const wire::StartJob& start);
  Result<> handle(const wire::CheckCall&);
  Result<> handle(const wire::FindFiles& find);
  Result<> handle(const wire::SignalProgram& signal);
  Result<> handle(const wire::ResizeTerminal& resize);
  Result<> send_started(StartOutcome outcome);
  Result<> reap();
  void kill_the_rest();
  std::string path_of(const GuestPath& path) const;
  Result<> send_frame(const wire::AgentFrame& frame, std::span<const int> fds = {}) {
    return send_message(plan_.link.get(), wire::encode(frame), fds);
  }

  ServePlan plan_;
  UniqueFd upload_;
  std::optional<wire::FileFailed> upload_failure_;
  bool an_upload_failed_ = false;
  std::optional<RuntimeDescriptors> cold_runtime_;  // made when its job's first piece comes
  std::uint64_t job_bytes_ = 0;
  pid_t program_ = 0;
  UniqueFd master_;
  const int launcher_;  // of a reusable sandbox, borrowed; else -1
  const int last_pid_;  // likewise
  std::optional<KeptRuntime> kept_;
  std::vector<UniqueFd> scratch_;
  bool recycles_ = false;    // the launcher has ended the call
  bool ended_well_ = false;  // the program has exited and left no process
};

int Agent::run() {
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  const UniqueFd child_events(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!child_events) return 1;
  // Processes of the guest must not outlive the agent: with a pid namespace the kernel kills them.
  struct AtEnd {
    Agent* agent;
    ~AtEnd() {
      if (!agent->is_over()) agent->kill_the_rest();
    }
  } at_end{this};
  while (true) {
    pollfd events[] = {{plan_.link.get(), POLLIN, 0},
                       {child_events.get(), POLLIN, 0},
                       {recycles_ ? -1 : launcher_, POLLIN, 0}};
    const int ready = ::poll(events, 3, recycles_ ? kToExitMs : -1);
    if (ready < 0 && errno != EINTR) return 1;
    if (ready == 0) return 1;  // the program does not end
    if (ready < 0) continue;
    if ((events[1].revents & POLLIN) != 0) {
      signalfd_siginfo ignored;
      while (::read(child_events.get(), &ignored, sizeof ignored) > 0) {
      }
      if (!reap()) return 0;
    }
    if (events[2].revents != 0 && !on_launcher()) return 0;
    if (events[0].revents != 0 && !on_link()) return 0;
    if (recycles_ && program_ <= 0) return 0;
  }
}

// Of a reusable sandbox the client goes after each call, and the launcher says what follows.
Result<> Agent::on_link() {
  Result<> done = on_frame();
  if (done || !is_reusable()) return done;
  plan_.link.reset();
  return {};
}

Result<> Agent::on_launcher() {
  TRY(Received received,
      receive_message(launcher_, wire::kMaxPlanMessage, wire::kDescriptorsOfAScratch));
  if (received.bytes.empty()) return fail(Errc::kUnavailable, "the launcher has gone");
  TRY(const wire::PlanMessage message, wire::decode_plan_message(received.bytes));
  if (!std::holds_alternative<wire::CleanSandbox>(message) ||
      received.fds.size() != wire::kDescriptorsOfAScratch) {
    return fail(Errc::kProtocol, "unexpected message of the launcher");
  }
  scratch_ = std::move(received.fds);
  recycles_ = true;
  plan_.link.reset();
  return {};
}

// Every process of a pid namespace whose parent has ended is a child of its first one.
bool Agent::has_no_children() const {
  while (true) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG | __WALL);
    if (pid > 0 || (pid < 0 && errno == EINTR)) continue;
    return pid < 0 && errno == ECHILD;
  }
}

Result<> Agent::on_frame() {
  TRY(const Received received, receive_message(plan_.link.get(), wire::kMaxGuestFrame, 0));
  if (received.bytes.empty()) return fail(Errc::kUnavailable, "the client has disconnected");
  TRY(const wire::ClientFrame frame, wire::decode_client_frame(received.bytes));
  return std::visit([this](const auto& one) { return handle(one); }, frame);
}

Result<> Agent::handle(const wire::PutFile& put) {
  const AsGuestUser as_user(plan_.change_user);
  upload_failure_.reset();
  auto file = create_guest_file(path_of(put.path), put.mode);
  if (file) {
    upload_ = std::move(*file);
  } else {
    upload_failure_ = wire::FileFailed{file.error().sys_errno(), file.error().message()};
  }
  return {};
}

Result<> Agent::handle(const wire::FileChunk& chunk) {
  if (!upload_) return {};  // it has failed already; that is reported at its end
  if (auto written = write_all(upload_.get(), chunk.bytes); !written) {
    upload_failure_ = wire::FileFailed{written.error().sys_errno(), written.error().message()};
    upload_.reset();
  }
  return {};
}

Result<> Agent::handle(const wire::FileEnd&) {
  upload_.reset();
  if (upload_failure_) {
    an_upload_failed_ = true;
    return send_frame(*upload_failure_);
  }
  return send_frame(wire::FileStored{});
}

Result<> Agent::handle(const wire::GetFile& get) {
  Result<UniqueFd> file = [&] {
    const AsGuestUser as_user(plan_.change_user);
    return open_guest_file(path_of(get.path));
  }();
  if (!file) return send_frame(wire::FileFailed{file.error().sys_errno(), file.error().message()});
  wire::FileChunk chunk;
  while (true) {
    chunk.bytes.resize(wire::kMaxChunk);
    const ssize_t got = ::read(file->get(), chunk.bytes.data(), chunk.bytes.size());
    if (got < 0) return send_frame(wire::FileFailed{errno, "read " + get.path.str()});
    if (got == 0) return send_frame(wire::FileEnd{});
    chunk.bytes.resize(static_cast<std::size_t>(got));
    TRY_OK(send_frame(chunk));
  }
}

// Tells the client that the program has started, with its id and the ends of its streams.
Result<> Agent::send_started(StartOutcome outcome) {
  if (!outcome.failure.step.empty()) {
    return send_frame(wire::StartFailed{outcome.failure.error, outcome.failure.step});
  }
  program_ = outcome.started.pid;
  master_ = std::move(outcome.started.master);
  std::vector<int> fds;
  for (const UniqueFd& end : outcome.started.client_ends) fds.push_back(end.get());
  return send_frame(wire::ProgramStarted{static_cast<std::uint32_t>(program_)}, fds);
}

Result<> Agent::handle(const wire::StartProgram& start) {
  if (program_ != 0) return send_frame(wire::StartFailed{EBUSY, "a program is running already"});
  // The client sends files and start in one go; a program must not run without its files.
  if (an_upload_failed_)
    return send_frame(wire::StartFailed{ENOENT, "a file could not be uploaded"});
  if (plan_.runtime) {
    // The waiting runtime is not used, and no other process may be in a program's sandbox.
    ::kill(plan_.runtime->pid, SIGKILL);
    plan_.runtime.reset();
  }
  const ExecSpec exec = plan_.process ? with_home(start.exec, plan_.process->home) : start.exec;
  if (!start.runtime) return send_started(start_program(plan_, exec));
  if (!cold_runtime_) return send_frame(wire::StartFailed{EINVAL, "the runtime has no job"});
  RuntimeDescriptors descriptors = std::move(*cold_runtime_);
  cold_runtime_.reset();
  return send_started(start_runtime(plan_, exec, std::move(descriptors), StartAhead::kNo));
}

Result<> Agent::handle(const wire::JobChunk& chunk) {
  if (!plan_.runtime && !cold_runtime_) {
    TRY(cold_runtime_, make_runtime_descriptors(plan_.change_user));
  }
  job_bytes_ += chunk.bytes.size();
  if (job_bytes_ > wire::kMaxJobBytes)
    return fail(Errc::kProtocol, "the job exceeds the size limit");
  const int job = plan_.runtime ? plan_.runtime->job.get() : cold_runtime_->ours.job.get();
  return write_all(job, chunk.bytes);
}

Result<> Agent::handle(const wire::StartJob& start) {
  if (program_ != 0) return send_frame(wire::StartFailed{EBUSY, "a program is running already"});
  if (an_upload_failed_)
    return send_frame(wire::StartFailed{ENOENT, "a file could not be uploaded"});
  if (!plan_.runtime || job_bytes_ == 0) {
    return send_frame(wire::StartFailed{EINVAL, "there is no waiting runtime or no job"});
  }
  plan_.runtime_stays = start.stays;
  if (auto limited = limit_runtime(plan_, plan_.runtime->pid); !limited) {
    return send_frame(wire::StartFailed{limited.error().sys_errno(), "limit the runtime"});
  }
  if (start.stays && is_reusable()) {
    auto kept = KeptRuntime::of(plan_.runtime->pid, last_pid_, plan_.change_user);
    if (!kept) return send_frame(wire::StartFailed{kept.error().sys_errno(), "keep the runtime"});
    kept_ = *kept;
  }
  Runtime runtime = std::move(*plan_.runtime);
  plan_.runtime.reset();
  program_ = runtime.pid;
  // This closes its socket: the runtime has received its byte, and sends nothing more.
  TRY_OK(send_message(runtime.socket.get(), std::as_bytes(std::span("g", 1))));
  std::vector<int> fds;
  for (const UniqueFd& end : runtime.client_ends) fds.push_back(end.get());
  return send_frame(wire::ProgramStarted{static_cast<std::uint32_t>(program_)}, fds);
}

Result<> Agent::handle(const wire::CheckCall&) {
  TRY_OK(reap());
  if (!kept_ || program_ <= 0) return send_frame(wire::CallChecked{"no runtime"});
  return send_frame(wire::CallChecked{kept_->left()});
}

Result<> Agent::handle(const wire::FindFiles& find) {
  const AsGuestUser as_user(plan_.change_user);
  return send_frame(
      find_files(plan_.process ? path_in_home(find.pattern, plan_.process->home) : find.pattern));
}

Result<> Agent::handle(const wire::SignalProgram& signal) {
  // Its whole process group, as a terminal would.
  if (program_ > 0) ::kill(-program_, signal.signal);
  return {};
}

Result<> Agent::handle(const wire::ResizeTerminal& resize) {
  if (master_) resize_terminal(master_.get(), resize.size);
  return {};
}

void Agent::kill_the_rest() {
  if (plan_.process) return kill_descendants(plan_.process->children.get());
  // kill(-1) is limited to our own pid namespace only if we are its first process.
  GBX_ASSERT(::getpid() == 1);
  ::kill(-1, SIGKILL);
}

std::string Agent::path_of(const GuestPath& path) const {
  return plan_.process ? path_in_home(path.str(), plan_.process->home) : path.str();
}

Result<> Agent::reap() {
  while (true) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) return {};
    if (pid != program_) continue;
    // A run ends with its program. Processes that it left behind are killed now, which also closes
    // the pipes, so that the client reads to their end.
    if (is_reusable()) ended_well_ = WIFEXITED(status) && has_no_children();
    if (!ended_well_) kill_the_rest();
    master_.reset();
    program_ = -1;
    wire::ProgramExited exited;
    if (WIFSIGNALED(status)) {
      exited.signal = static_cast<std::uint8_t>(WTERMSIG(status));
    } else {
      exited.code = static_cast<std::uint8_t>(WEXITSTATUS(status));
    }
    exited.cpu_us =
        static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 +
        static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    exited.max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    const Result<> sent = send_frame(exited);
    if (!sent && !is_reusable()) return sent;  // of a reusable sandbox the client may have gone
    if (ended_well_) return {};
  }
}

}  // namespace

int serve(ServePlan plan) { return Agent(std::move(plan)).run(); }

std::optional<NextCall> serve_call(ServePlan plan, int launcher, int last_pid) {
  Agent agent(std::move(plan), launcher, last_pid);
  (void)agent.run();
  if (!agent.is_over()) return std::nullopt;
  return agent.take_next();
}

}  // namespace glovebox::agent
