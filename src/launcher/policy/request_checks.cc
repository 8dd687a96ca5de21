#include "launcher/policy/request_checks.h"

#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace glovebox::launcher {

// The client checks the same, and is not believed: a socket or device mounted alone would be a way
// to a service of the host's.
Result<> refuse_special_files(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(Error::from_errno("look at a mount"));
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
    return fail(Errc::kPolicy, "only a directory or a plain file can be mounted");
  }
  return {};
}

// A guest on a kernel's own filesystem of ours would see the host's processes and switches.
Result<> refuse_kernel_filesystems(int fd) {
  struct statfs where {};
  if (::fstatfs(fd, &where) != 0) return fail(Error::from_errno("look at a mount"));
  for (const long kind : std::initializer_list<long>{
           PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
           TRACEFS_MAGIC, SECURITYFS_MAGIC, DEVPTS_SUPER_MAGIC, BPF_FS_MAGIC, NSFS_MAGIC,
           EFIVARFS_MAGIC, PSTOREFS_MAGIC}) {
    if (where.f_type == kind) {
      return fail(Errc::kPolicy,
                  "a filesystem of the kernel's own (/proc, /sys, ...) cannot be mounted");
    }
  }
  return {};
}

// What is passed on as the sandbox's own socket must be one, of the kind that was agreed.
Result<> check_link(int fd) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX ||
      ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    return fail(Errc::kProtocol, "a request's first descriptor is not a SEQPACKET socket");
  }
  return {};
}

// Where the request names a limit that this host cannot enforce, it is refused; a default is not.
Result<> refuse_unenforceable(const Limits& limits, const sys::CgroupFeatures& features) {
  const auto refuse = [](std::string_view what) {
    return fail(Errc::kUnsupported,
                std::string(what) +
                    " was asked for but cannot be enforced here: no cgroup of ours "
                    "controls it (see `glovebox doctor`)");
  };
  if (limits.was_asked_for(LimitKind::kMemory) && !features.memory) return refuse("a memory limit");
  if (limits.was_asked_for(LimitKind::kCpus) && !features.cpu) return refuse("a CPU share");
  if (limits.was_asked_for(LimitKind::kCpuTime) && !features.any) return refuse("a CPU time limit");
  return {};
}

}  // namespace glovebox::launcher
