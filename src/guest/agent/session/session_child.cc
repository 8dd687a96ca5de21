// Between fork and exec: no allocation, no exceptions, no logging; async-signal-safe calls only.
#include "guest/agent/session/session_child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>

namespace glovebox::agent {
namespace {

static_assert(std::is_trivially_copyable_v<SessionIdentity>);

constexpr int kSessionCapabilities[] = {
    CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FSETID,  CAP_FOWNER,           CAP_SETGID,
    CAP_SETUID, CAP_SETFCAP,      CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
    CAP_KILL,   CAP_AUDIT_WRITE,
};

}  // namespace

bool is_session_capability(int capability) noexcept {
  for (const int one : kSessionCapabilities) {
    if (one == capability) return true;
  }
  return false;
}

int be_killable_by_oom() noexcept {
  // The agent is protected from the OOM killer if the launcher may do so; what it starts is killed
  // first, so that the agent survives even without that. The file is the host root's while we are
  // not dumpable. Being so for a moment is harmless: until the user is changed we have capabilities
  // that no guest has, and the kernel lets only equals trace us.
  if (::prctl(PR_SET_DUMPABLE, 1) != 0) return errno;
  int error = 0;
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || ::write(fd, "1000", 4) != 4) error = errno;
  if (fd >= 0) ::close(fd);
  if (error == 0 && ::prctl(PR_SET_DUMPABLE, 0) != 0) error = errno;
  return error;
}

int close_all_but(unsigned first, const int* kept, std::size_t kept_count) noexcept {
  for (std::size_t i = 0; i < kept_count; ++i) {
    if (kept[i] < 0) continue;
    const auto keep = static_cast<unsigned>(kept[i]);
    if (keep < first) continue;
    if (keep > first && ::syscall(SYS_close_range, first, keep - 1, 0) != 0) return errno;
    first = keep + 1;
  }
  return ::syscall(SYS_close_range, first, ~0u, 0) == 0 ? 0 : errno;
}

int become_session_user(const SessionIdentity& identity) noexcept {
  if (!identity.change_user) return 0;
  if (::syscall(SYS_setgroups, identity.group_count, identity.groups) != 0) return errno;
  if (::syscall(SYS_setresgid, identity.gid, identity.gid, identity.gid) != 0) return errno;
  return ::syscall(SYS_setresuid, identity.uid, identity.uid, identity.uid) == 0 ? 0 : errno;
}

int keep_session_capabilities(const SessionIdentity& identity) noexcept {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (identity.change_user && identity.uid == 0) {
    for (const int capability : kSessionCapabilities) {
      sets[capability / 32].permitted |= 1u << (capability % 32);
    }
    for (__user_cap_data_struct& set : sets) set.effective = set.permitted;
  }
  return ::syscall(SYS_capset, &header, sets) == 0 ? 0 : errno;
}

}  // namespace glovebox::agent
