#include "launcher/policy/request_checks.h"

#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace glovebox::launcher {

// The client checks the same and is not trusted: a mounted socket or device would give the guest
// access to a service of the host.
Result<> refuse_special_files(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(Error::from_errno("stat a mount's source"));
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
    return fail(Errc::kPolicy, "only directories and regular files can be mounted");
  }
  // Files in memory, and those that were removed: no directory has them, so they cannot be opened
  // by name in the launcher's own mount namespace.
  if (info.st_nlink == 0) {
    return fail(Errc::kPolicy, "a file that has no name cannot be mounted");
  }
  return {};
}

// Through the host's /proc or /sys a guest would see the host's processes and settings.
Result<> refuse_kernel_filesystems(int fd) {
  struct statfs where {};
  if (::fstatfs(fd, &where) != 0) return fail(Error::from_errno("stat a mount's source"));
  for (const long kind : std::initializer_list<long>{
           PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
           TRACEFS_MAGIC, SECURITYFS_MAGIC, DEVPTS_SUPER_MAGIC, BPF_FS_MAGIC, NSFS_MAGIC,
           EFIVARFS_MAGIC, PSTOREFS_MAGIC}) {
    if (where.f_type == kind) {
      return fail(Errc::kPolicy, "a kernel filesystem such as /proc or /sys cannot be mounted");
    }
  }
  return {};
}

Result<> check_link(int fd, LinkOf whose) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
      ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
      (type == SOCK_SEQPACKET || (type == SOCK_STREAM && whose == LinkOf::kSession))) {
    return {};
  }
  return fail(Errc::kProtocol, "the sandbox's socket is not a unix SEQPACKET socket" +
                                   std::string(whose == LinkOf::kSession ? " or stream" : ""));
}

Error setup_failure(std::string step, int sys_errno) {
  const bool is_full = sys_errno == EAGAIN || sys_errno == ENOMEM || sys_errno == ENOSPC ||
                       sys_errno == EMFILE || sys_errno == ENFILE || sys_errno == EUSERS;
  return Error(is_full ? Errc::kResourceExhausted : Errc::kInternal, std::move(step), sys_errno);
}

Result<> check_enforceable(const Limits& limits, const sys::CgroupFeatures& features) {
  if (!limits.was_asked_for(LimitKind::kCpus) || features.cpu) return {};
  return fail(Errc::kUnsupported,
              "a CPU share was asked for but cannot be enforced on this host: Glovebox has no "
              "cgroup with the cpu controller, and no rlimit can stand in for it (`glovebox "
              "doctor` says how to get one)");
}

void add_limit_walls(const sys::CgroupFeatures& features, WallSet& walls) {
  walls.add(features.memory ? Wall::kMemoryLimit : Wall::kMemoryPerProcess);
  if (features.cpu) walls.add(Wall::kCpuLimit);
  if (!features.cpu_time) walls.add(Wall::kCpuTimePerProcess);
}

}  // namespace glovebox::launcher
