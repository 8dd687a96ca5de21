// Between fork and exec: no allocation, no exceptions, no logging; async-signal-safe calls only.
#include "guest/agent/run/guest_child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <type_traits>

#include "guest/agent/init/guest_ids.h"
#include "sys/landlock.h"

namespace glovebox::agent {
namespace {

static_assert(std::is_trivially_copyable_v<GuestPlan>);

int reset_signals(const GuestPlan&) noexcept {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < 65; ++signal) {
    // The kernel refuses KILL and STOP, glibc its two internal ones; all are at default anyway.
    ::sigaction(signal, &standard, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  return ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0 ? 0 : errno;
}

int lead_a_session(const GuestPlan& plan) noexcept {
  if (::setsid() < 0) return errno;
  if (plan.terminal && ::ioctl(plan.stdin_fd, TIOCSCTTY, 0) != 0) return errno;
  return 0;
}

int take_standard_streams(const GuestPlan& plan) noexcept {
  // The agent's pipes are all above 2, so no dup2 can overwrite one that is still needed.
  if (::dup2(plan.stdin_fd, 0) < 0 || ::dup2(plan.stdout_fd, 1) < 0 ||
      ::dup2(plan.stderr_fd, 2) < 0) {
    return errno;
  }
  for (unsigned i = 0; i < plan.more_count; ++i) {
    if (::dup2(plan.more_fds[i], static_cast<int>(3 + i)) < 0) return errno;
  }
  return 0;
}

int mark_the_rest_close_on_exec(const GuestPlan& plan) noexcept {
  const unsigned first = 3 + plan.more_count;
  return ::syscall(SYS_close_range, first, ~0u, CLOSE_RANGE_CLOEXEC) == 0 ? 0 : errno;
}

// A session has more than one guest process, and none may keep another's pipe open: one that is
// stopped before its exec has no other descriptors.
int close_other_descriptors(const GuestPlan& plan) noexcept {
  return close_all_but(3 + plan.more_count, &plan.failure_fd, 1);
}

int be_killable(const GuestPlan& plan) noexcept {
  return plan.reset_oom_score ? be_killable_by_oom() : 0;
}

int set_rlimits(const GuestPlan& plan) noexcept {
  for (std::size_t i = 0; i < plan.rlimit_count; ++i) {
    const RlimitEntry& entry = plan.rlimits[i];
    rlimit limit{entry.soft, entry.hard};
    rlimit now{};
    if (::getrlimit(static_cast<__rlimit_resource>(entry.resource), &now) != 0) return errno;
    // A lower hard limit is kept: without privileges on the host it could not be raised anyway.
    if (now.rlim_max < limit.rlim_max) limit.rlim_max = now.rlim_max;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(static_cast<__rlimit_resource>(entry.resource), &limit) != 0) return errno;
  }
  return 0;
}

int become_the_user(const GuestPlan& plan) noexcept {
  if (plan.has_identity) return become_session_user(plan.identity);
  if (!plan.change_user) return 0;
  if (::syscall(SYS_setgroups, 0, nullptr) != 0) return errno;
  if (::syscall(SYS_setresgid, kGuestGid, kGuestGid, kGuestGid) != 0) return errno;
  return ::syscall(SYS_setresuid, kGuestUid, kGuestUid, kGuestUid) == 0 ? 0 : errno;
}

int drop_capabilities(const GuestPlan&) noexcept {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return ::syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

int enter_workdir(const GuestPlan& plan) noexcept { return ::chdir(plan.workdir) == 0 ? 0 : errno; }

int forbid_new_privileges(const GuestPlan&) noexcept {
  // Before Landlock and the filter: the kernel refuses both to the unprivileged without it, and a
  // setuid file that found its way in could otherwise gain privileges.
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
}

int enter_landlock(const GuestPlan& plan) noexcept {
  return plan.landlock_fd < 0 ? 0 : sys::enter_landlock(plan.landlock_fd);
}

int install_seccomp(const GuestPlan& plan) noexcept { return install_filters(plan.extra_filter); }

int install_session_seccomp(const GuestPlan& plan) noexcept {
  return install_session_filters(plan.setuid_files);
}

int become_the_session_user(const GuestPlan& plan) noexcept {
  return become_session_user(plan.identity);
}

int limit_session_capabilities(const GuestPlan& plan) noexcept {
  return keep_session_capabilities(plan.identity);
}

struct GuestStep {
  const char* name;
  int (*run)(const GuestPlan&) noexcept;
};

// The order is the design; each step may rely on all those above it.
constexpr GuestStep kGuestSteps[] = {
    {"reset signals", reset_signals},
    {"lead a session", lead_a_session},
    {"take standard streams", take_standard_streams},
    {"close descriptors", mark_the_rest_close_on_exec},
    {"become killable", be_killable},  // while /proc may still be written
    {"set rlimits", set_rlimits},
    {"become the user", become_the_user},
    {"drop capabilities", drop_capabilities},
    {"enter working directory", enter_workdir},  // with the user's rights, not the agent's
    {"forbid new privileges", forbid_new_privileges},
    {"enter landlock", enter_landlock},
    {"install seccomp", install_seccomp},  // last: it denies what the others call
};

constexpr GuestStep kSessionSteps[] = {
    {"reset signals", reset_signals},
    {"lead a session", lead_a_session},
    {"take standard streams", take_standard_streams},
    {"close descriptors", close_other_descriptors},
    {"become killable", be_killable},
    {"set rlimits", set_rlimits},
    {"install seccomp", install_session_seccomp},  // while we may without no_new_privs
    {"become the user", become_the_session_user},
    {"drop capabilities", limit_session_capabilities},
    {"enter working directory", enter_workdir},  // with the user's rights, not the agent's
};

std::span<const GuestStep> steps_of(bool session) noexcept {
  if (session) return kSessionSteps;
  return kGuestSteps;
}

}  // namespace

const char* guest_step_name(bool session, unsigned step) noexcept {
  const std::span<const GuestStep> steps = steps_of(session);
  return step < steps.size() ? steps[step].name : "execute";
}

void run_guest_child(const GuestPlan& plan) noexcept {
  GuestFailure failure{};
  ::umask(022);
  const std::span<const GuestStep> steps = steps_of(plan.session);
  for (; failure.step < steps.size(); ++failure.step) {
    failure.error = steps[failure.step].run(plan);
    if (failure.error != 0) break;
  }
  if (failure.error == 0) {
    ::execve(plan.argv[0], plan.argv, plan.envp);  // success closes failure_fd
    failure.error = errno;
  }
  (void)!::write(plan.failure_fd, &failure, sizeof failure);
  ::_exit(127);
}

}  // namespace glovebox::agent
