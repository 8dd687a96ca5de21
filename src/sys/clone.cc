#include "sys/clone.h"

#include <linux/sched.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace glovebox::sys {

Result<Cloned> clone_into(std::uint64_t namespace_flags, int cgroup_fd) {
  int pidfd = -1;
  clone_args args{};
  args.flags = namespace_flags | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  if (cgroup_fd >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  }
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return fail(Error::from_errno("clone3"));
  Cloned cloned;
  cloned.pid = static_cast<pid_t>(pid);
  if (pid > 0) cloned.pidfd.reset(pidfd);
  return cloned;
}

Result<> keep_capabilities_across_uid_changes() {
  if (::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) != 0) {
    return fail(Error::from_errno("set securebits"));
  }
  return {};
}

Result<> become_effective(uid_t uid, gid_t gid) {
  // The raw calls: glibc's would signal other threads, of which there are none.
  if (::syscall(SYS_setresgid, -1, gid, -1) != 0 || ::syscall(SYS_setresuid, -1, uid, -1) != 0) {
    return fail(Error::from_errno("change effective user"));
  }
  return {};
}

int send_signal(int pidfd, int signal) noexcept {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0 ? 0 : errno;
}

}  // namespace glovebox::sys
