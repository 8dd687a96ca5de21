#include "probe/attempt.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "probe/kernel_text.h"

namespace glovebox::probe {

namespace {

constexpr uid_t kNobody = 65534;

// What a helper writes: one message, smaller than PIPE_BUF, so it arrives whole or not at all.
struct Report {
  std::int32_t error;
  std::uint32_t step_bytes;
  std::uint32_t note_bytes;
  std::int64_t value;
  char text[2048];
};

void send_report(int pipe, const Attempt& attempt) {
  Report report{};
  report.error = attempt.error;
  report.value = attempt.value;
  const std::size_t half = sizeof report.text / 2;
  report.step_bytes = static_cast<std::uint32_t>(std::min(attempt.step.size(), half));
  report.note_bytes = static_cast<std::uint32_t>(std::min(attempt.note.size(), half));
  std::memcpy(report.text, attempt.step.data(), report.step_bytes);
  std::memcpy(report.text + report.step_bytes, attempt.note.data(), report.note_bytes);
  (void)!::write(pipe, &report, sizeof report);
}

// A report, or nothing: the helper ended without a word, or the deadline passed.
enum class ReceivedReport : std::uint8_t { kReport, kNothing, kTooLate };

ReceivedReport receive_report(int pipe, std::chrono::milliseconds deadline, Report& report) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + deadline;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return ReceivedReport::kTooLate;
    const ssize_t n = ::read(pipe, &report, sizeof report);
    if (n < 0 && errno == EINTR) continue;
    return n == static_cast<ssize_t>(sizeof report) ? ReceivedReport::kReport
                                                    : ReceivedReport::kNothing;
  }
}

void die_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above; then no process would kill us. In a new pid
  // namespace the parent's number is 0, and cannot be compared.
  const pid_t now = ::getppid();
  if (now != parent && now != 0) ::_exit(127);
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    return std::string("the helper was killed by SIG") + (name != nullptr ? name : "?");
  }
  return "the helper exited without an answer";
}

}  // namespace

std::string Attempt::why() const {
  if (error == 0) return {};
  if (error < 0) return step;
  return Error::from_errno(step, error).message();
}

Attempt attempt_in_helper(const std::function<Attempt()>& body,
                          std::chrono::milliseconds deadline) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Attempt::failed("pipe");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);

  const pid_t parent = ::getpid();
  const pid_t helper = ::fork();
  if (helper < 0) return Attempt::failed("fork a helper");
  if (helper == 0) {
    read_end.reset();
    die_with_parent(parent);
    send_report(write_end.get(), body());
    ::_exit(0);
  }
  write_end.reset();

  Report report{};
  const ReceivedReport received = receive_report(read_end.get(), deadline, report);
  // Our own child that is not yet reaped: its number cannot have been given to another.
  if (received == ReceivedReport::kTooLate) ::kill(helper, SIGKILL);
  int status = 0;
  while (::waitpid(helper, &status, 0) < 0 && errno == EINTR) {
  }
  switch (received) {
    case ReceivedReport::kTooLate:
      return Attempt::failed("no answer within " + std::to_string(deadline.count()) + " ms", -1);
    case ReceivedReport::kNothing:
      return Attempt::failed(describe_end(status), -1);
    case ReceivedReport::kReport:
      break;
  }
  return {.error = report.error,
          .step = std::string(report.text, report.step_bytes),
          .value = report.value,
          .note = std::string(report.text + report.step_bytes, report.note_bytes)};
}

pid_t fork_into(unsigned long namespace_flags) {
  const pid_t parent = ::getpid();
  // The raw call: glibc's clone() wants a stack and a function, and fork() takes no flags.
  const auto pid =
      static_cast<pid_t>(::syscall(SYS_clone, namespace_flags | static_cast<unsigned long>(SIGCHLD),
                                   nullptr, nullptr, nullptr, nullptr));
  if (pid == 0) die_with_parent(parent);
  return pid;
}

int wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 127;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<ParkedChild> ParkedChild::start(unsigned long namespace_flags) {
  const pid_t pid = fork_into(namespace_flags);
  if (pid < 0) return fail(Error::from_errno("clone"));
  if (pid == 0) {
    while (true) ::pause();
  }
  return ParkedChild(pid);
}

ParkedChild::~ParkedChild() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait_for_child(pid_);
}

Result<> ParkedChild::map_ids(const std::string& uid_map, const std::string& gid_map) const {
  const std::string process = "/proc/" + std::to_string(pid_);
  if (const int err = write_text(process + "/uid_map", uid_map); err != 0) {
    return fail(Error::from_errno("write uid_map", err));
  }
  if (const int err = write_text(process + "/gid_map", gid_map); err != 0) {
    return fail(Error::from_errno("write gid_map", err));
  }
  return {};
}

Result<UniqueFd> ParkedChild::open_namespace(const std::string& name) const {
  const std::string path = "/proc/" + std::to_string(pid_) + "/ns/" + name;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(Error::from_errno("open " + path));
  return fd;
}

int become_ordinary_user() {
  if (::geteuid() != 0) return 0;
  if (::setgroups(0, nullptr) != 0) return errno;
  if (::setresgid(kNobody, kNobody, kNobody) != 0) return errno;
  if (::setresuid(kNobody, kNobody, kNobody) != 0) return errno;
  // Changing ids makes a process non-dumpable, its /proc files root's, and forgets the
  // parent-death signal; a user's own process has none of that.
  if (::prctl(PR_SET_DUMPABLE, 1) != 0) return errno;
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  return 0;
}

Attempt enter_own_user_namespace() {
  const std::string uid = std::to_string(::geteuid());
  const std::string gid = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0) return Attempt::failed("create a user namespace");
  // Needed before an unprivileged gid_map (user_namespaces(7)); absent before Linux 3.19.
  (void)write_text("/proc/self/setgroups", "deny");
  if (const int err = write_text("/proc/self/uid_map", "0 " + uid + " 1"); err != 0) {
    return Attempt::failed("write uid_map", err);
  }
  if (const int err = write_text("/proc/self/gid_map", "0 " + gid + " 1"); err != 0) {
    return Attempt::failed("write gid_map", err);
  }
  return Attempt::worked();
}

Attempt enter_private_mounts(Way way) {
  if (way == Way::kUserNamespace) {
    Attempt entered = enter_own_user_namespace();
    if (!entered.ok()) return entered;
  }
  if (::unshare(CLONE_NEWNS) != 0) return Attempt::failed("create a mount namespace");
  // Before anything is mounted: a shared tree would pass it on to the host.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return Attempt::failed("make mounts private");
  }
  return Attempt::worked();
}

}  // namespace glovebox::probe
