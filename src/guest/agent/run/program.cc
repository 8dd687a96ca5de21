#include "guest/agent/run/program.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "guest/agent/run/guest_child.h"
#include "guest/agent/run/guest_files.h"
#include "guest/agent/session/session_user.h"

namespace glovebox::agent {
namespace {

struct Streams {
  UniqueFd guest_in, guest_out, guest_err;
  std::vector<UniqueFd> more;  // a runtime's
  std::vector<UniqueFd> client_ends;
  UniqueFd master;
};

bool make_output_pipe(UniqueFd& read_end, UniqueFd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return true;
}

bool make_pipes(Streams& streams, bool change_user) {
  const AsGuestUser as_user(
      change_user);  // so that the guest may reopen them by name (/dev/stdout)
  streams.client_ends.resize(3);
  return make_output_pipe(streams.guest_in, streams.client_ends[0]) &&
         make_output_pipe(streams.client_ends[1], streams.guest_out) &&
         make_output_pipe(streams.client_ends[2], streams.guest_err);
}

bool make_program_terminal(Streams& streams, TerminalSize size, bool change_user) {
  const AsGuestUser as_user(change_user);  // the slave belongs to the user who opened the master
  if (!open_terminal(size, streams.master, streams.guest_in)) return false;
  streams.guest_out.reset(::fcntl(streams.guest_in.get(), F_DUPFD_CLOEXEC, 3));
  streams.guest_err.reset(::fcntl(streams.guest_in.get(), F_DUPFD_CLOEXEC, 3));
  streams.client_ends.emplace_back(::fcntl(streams.master.get(), F_DUPFD_CLOEXEC, 3));
  return streams.guest_out && streams.guest_err && streams.client_ends[0];
}

StartOutcome failed(std::string step, int error) {
  StartOutcome outcome;
  outcome.failure = {std::move(step), error};
  return outcome;
}

}  // namespace

bool open_terminal(TerminalSize size, UniqueFd& master, UniqueFd& slave) {
  master.reset(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  int unlock = 0;
  if (!master || ::ioctl(master.get(), TIOCSPTLCK, &unlock) != 0) return false;
  resize_terminal(master.get(), size);
  slave.reset(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  return static_cast<bool>(slave);
}

// As a shell would: a name without a slash is looked for along the program's own PATH.
std::string find_program(const ExecSpec& exec) {
  const std::string& name = exec.argv[0];
  if (name.find('/') != std::string::npos) return name;
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& variable : exec.env) {
    if (variable.rfind("PATH=", 0) == 0) path = std::string_view(variable).substr(5);
  }
  while (!path.empty()) {
    const std::string_view directory = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(path.size(), directory.size() + 1));
    std::string candidate = std::string(directory) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return name;
}

std::vector<RlimitEntry> rlimits_of(const ServePlan& plan) {
  const rlim_t files = open_files_of_a_process(plan.shares, plan.limits.pids);
  std::vector<RlimitEntry> entries = {
      {RLIMIT_CORE, 0, 0},
      {RLIMIT_NOFILE, files, files},
      {RLIMIT_SIGPENDING, 256, 256},
      {RLIMIT_MSGQUEUE, 65536, 65536},
      {RLIMIT_MEMLOCK, 65536, 65536},
      {RLIMIT_STACK, 8u << 20, 64u << 20},
      {RLIMIT_RTPRIO, 0, 0},
      {RLIMIT_NICE, 0, 0},
  };
  // Counted per user, so only if no other sandbox has the user.
  if (!plan.process || plan.process->own_uid) {
    entries.push_back({RLIMIT_NPROC, plan.limits.pids, plan.limits.pids});
  }
  if (plan.process) {  // a host directory has no quota: only the size of each file is limited
    entries.push_back({RLIMIT_FSIZE, plan.limits.disk_bytes, plan.limits.disk_bytes});
  }
  // Without a memory cgroup each process is limited by itself: weaker, and visible in the walls.
  if (!plan.memory_is_bounded) {
    entries.push_back({RLIMIT_DATA, plan.limits.memory_bytes, plan.limits.memory_bytes});
  }
  const bool is_one_call = !plan.runtime_stays || !plan.cpu_time_is_counted;
  if (plan.limits.cpu_time.count() > 0 && is_one_call) {
    const auto seconds = static_cast<rlim_t>((plan.limits.cpu_time.count() + 999) / 1000);
    // Where a cgroup counts, the launcher ends the sandbox; this is for when it cannot. Else this
    // is all there is, of each process by itself. The kernel knows whole seconds only.
    const rlim_t soft = plan.cpu_time_is_counted ? seconds + 1 : seconds;
    entries.push_back({RLIMIT_CPU, soft, soft + 1});
  }
  return entries;
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

namespace {

StartOutcome start_with(const ServePlan& plan, const ExecSpec& exec, Streams streams,
                        const std::vector<RlimitEntry>& rlimits);

}  // namespace

StartOutcome start_program(const ServePlan& plan, const ExecSpec& exec) {
  Streams streams;
  const bool made = exec.terminal ? make_program_terminal(streams, *exec.terminal, plan.change_user)
                                  : make_pipes(streams, plan.change_user);
  if (!made) return failed("create standard streams", errno);
  return start_with(plan, exec, std::move(streams), rlimits_of(plan));
}

StartOutcome start_runtime(const ServePlan& plan, const ExecSpec& exec,
                           RuntimeDescriptors descriptors, StartAhead ahead) {
  Streams streams;
  streams.guest_in = std::move(descriptors.theirs[0]);
  streams.guest_out = std::move(descriptors.theirs[1]);
  streams.guest_err = std::move(descriptors.theirs[2]);
  streams.more.push_back(std::move(descriptors.theirs[3]));
  streams.more.push_back(std::move(descriptors.theirs[4]));
  if (ahead == StartAhead::kYes) streams.more.push_back(std::move(descriptors.theirs[5]));
  streams.client_ends = std::move(descriptors.ours.client_ends);
  StartOutcome outcome =
      start_with(plan, exec, std::move(streams),
                 ahead == StartAhead::kYes ? std::vector<RlimitEntry>() : rlimits_of(plan));
  outcome.started.job = std::move(descriptors.ours.job);
  outcome.started.socket = std::move(descriptors.ours.socket);
  return outcome;
}

Result<> limit_runtime(const ServePlan& plan, pid_t pid) {
  for (const RlimitEntry& entry : rlimits_of(plan)) {
    const auto resource = static_cast<__rlimit_resource>(entry.resource);
    rlimit now{};
    if (::prlimit(pid, resource, nullptr, &now) != 0) {
      return fail(Error::from_errno("read an rlimit"));
    }
    // A hard limit below ours is a stronger one; see set_rlimits in guest_child.cc.
    rlimit limit{std::min(entry.soft, now.rlim_max), std::min(entry.hard, now.rlim_max)};
    if (::prlimit(pid, resource, &limit, nullptr) != 0) {
      return fail(Error::from_errno("set an rlimit"));
    }
  }
  return {};
}

namespace {

// One fork; if it fails, the child reports the step and errno.
StartOutcome start_with(const ServePlan& plan, const ExecSpec& exec, Streams streams,
                        const std::vector<RlimitEntry>& rlimits) {
  UniqueFd failure_read;
  UniqueFd failure_write;
  if (!make_output_pipe(failure_read, failure_write)) return failed("pipe", errno);
  failure_write.reset(::fcntl(failure_write.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  if (!failure_write) return failed("pipe", errno);

  std::optional<SessionUser> user;
  if (!exec.user.empty()) {
    user = look_up_user(exec.user);
    if (!user) return failed("find the user", ENOENT);
  }
  ExecSpec resolved = exec;
  resolved.argv[0] = find_program(exec);
  const std::vector<char*> argv = pointers_to(resolved.argv);
  const std::vector<char*> envp = pointers_to(resolved.env);
  GuestPlan child;
  child.argv = argv.data();
  child.envp = envp.data();
  child.workdir = resolved.workdir.c_str();
  child.stdin_fd = streams.guest_in.get();
  child.stdout_fd = streams.guest_out.get();
  child.stderr_fd = streams.guest_err.get();
  for (const UniqueFd& fd : streams.more) child.more_fds[child.more_count++] = fd.get();
  child.terminal = exec.terminal.has_value();
  child.change_user = plan.change_user;
  if (user) {
    child.has_identity = true;
    child.identity = {user->uid, user->gid, user->groups.data(), user->groups.size(),
                      plan.change_user};
  }
  child.reset_oom_score = !plan.process;
  if (plan.process) child.extra_filter = plan.process->filter;
  child.rlimits = rlimits.data();
  child.rlimit_count = rlimits.size();
  child.landlock_fd = plan.landlock.get();
  child.failure_fd = failure_write.get();

  const pid_t pid = ::fork();
  if (pid < 0) return failed("fork", errno);
  if (pid == 0) run_guest_child(child);
  failure_write.reset();
  GuestFailure failure{};
  ssize_t got = -1;
  do {
    got = ::read(failure_read.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof failure)) {
    ::waitpid(pid, nullptr, 0);
    return failed(guest_step_name(false, failure.step), failure.error);
  }
  StartOutcome outcome;
  outcome.started.pid = pid;
  outcome.started.client_ends = std::move(streams.client_ends);
  outcome.started.master = std::move(streams.master);
  return outcome;
}

}  // namespace

void resize_terminal(int master, TerminalSize size) {
  winsize window{};
  window.ws_row = size.rows;
  window.ws_col = size.columns;
  ::ioctl(master, TIOCSWINSZ, &window);
}

}  // namespace glovebox::agent
