// Between fork and exec: no allocation, no exceptions, no logging; async-signal-safe calls only.
#include "launcher/sandbox/process_child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <type_traits>

namespace glovebox::launcher {
namespace {

static_assert(std::is_trivially_copyable_v<ProcessPlan>);

constexpr int kSetupSocket = 3;
constexpr int kLinkSocket = 4;

int wait_for_cgroups(const ProcessPlan& plan) noexcept {
  char byte = 0;
  const ssize_t got = ::read(plan.go_fd, &byte, 1);
  return got == 1 ? 0 : got < 0 ? errno : EPIPE;
}

int lead_a_session(const ProcessPlan&) noexcept { return ::setsid() < 0 ? errno : 0; }

int drop_process_streams(const ProcessPlan&) noexcept {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return errno;
  for (const int stream : {0, 1, 2}) {
    if (::dup2(null, stream) < 0) return errno;
  }
  return 0;
}

int keep_only_process_descriptors(const ProcessPlan& plan) noexcept {
  // Moved out of the way first: one of them may have the target number of another.
  const int setup = ::fcntl(plan.setup_fd, F_DUPFD, 100);
  const int link = ::fcntl(plan.link_fd, F_DUPFD, 100);
  const int agent = ::fcntl(plan.agent_fd, F_DUPFD, 100);
  const int failure = ::fcntl(plan.failure_fd, F_DUPFD, 100);
  if (setup < 0 || link < 0 || agent < 0 || failure < 0) return errno;
  if (::dup2(setup, kSetupSocket) < 0 || ::dup2(link, kLinkSocket) < 0 ||
      ::dup2(agent, kLinkSocket + 1) < 0 || ::dup2(failure, kLinkSocket + 2) < 0) {
    return errno;
  }
  if (::syscall(SYS_close_range, kLinkSocket + 3u, ~0u, 0) != 0) return errno;
  return ::syscall(SYS_close_range, kLinkSocket + 1u, ~0u, CLOSE_RANGE_CLOEXEC) == 0 ? 0 : errno;
}

int become_the_user(const ProcessPlan& plan) noexcept {
  if (plan.change_user) {
    if (::syscall(SYS_setgroups, 0, nullptr) != 0) return errno;
    if (::syscall(SYS_setresgid, plan.uid, plan.uid, plan.uid) != 0) return errno;
    if (::syscall(SYS_setresuid, plan.uid, plan.uid, plan.uid) != 0) return errno;
    // Cleared explicitly, in case a securebit kept them.
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[2] = {};
    if (::syscall(SYS_capset, &header, none) != 0) return errno;
  }
  return ::getuid() == 0 || ::geteuid() == 0 ? EPERM : 0;
}

int forbid_new_privileges(const ProcessPlan&) noexcept {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
}

struct ProcessStep {
  const char* name;
  int (*run)(const ProcessPlan&) noexcept;
};

constexpr ProcessStep kProcessSteps[] = {
    {"join cgroups", wait_for_cgroups},
    {"lead a session", lead_a_session},
    {"drop standard streams", drop_process_streams},
    {"keep only our descriptors", keep_only_process_descriptors},
    {"become an ordinary user", become_the_user},  // never uid 0, whatever started us
    {"forbid new privileges", forbid_new_privileges},
};

}  // namespace

const char* process_step_name(unsigned step) noexcept {
  return step < std::size(kProcessSteps) ? kProcessSteps[step].name : "execute the agent";
}

void run_process_child(const ProcessPlan& plan) noexcept {
  ProcessFailure failure{};
  int failure_fd = plan.failure_fd;
  int agent_fd = plan.agent_fd;
  for (; failure.step < std::size(kProcessSteps); ++failure.step) {
    failure.error = kProcessSteps[failure.step].run(plan);
    if (failure.error != 0) break;
    if (kProcessSteps[failure.step].run == keep_only_process_descriptors) {
      agent_fd = kLinkSocket + 1;
      failure_fd = kLinkSocket + 2;
    }
  }
  if (failure.error == 0) {
    char name[] = "glovebox-agent";
    char role[] = "process";
    char* const argv[] = {name, role, nullptr};
    char* const envp[] = {nullptr};
    ::syscall(SYS_execveat, agent_fd, "", argv, envp, AT_EMPTY_PATH);
    failure.error = errno;
  }
  (void)!::write(failure_fd, &failure, sizeof failure);
  ::_exit(127);
}

}  // namespace glovebox::launcher
