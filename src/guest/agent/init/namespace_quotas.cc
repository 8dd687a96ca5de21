#include "guest/agent/init/namespace_quotas.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "sys/file.h"

namespace glovebox::agent {

Result<> set_namespace_quotas(const SandboxShares& shares) {
  struct Quota {
    const char* name;
    std::uint32_t most;
  };
  const Quota quotas[] = {
      {"max_user_namespaces", 0},
      {"max_pid_namespaces", 0},
      {"max_mnt_namespaces", 0},
      {"max_net_namespaces", 0},
      {"max_ipc_namespaces", 0},
      {"max_uts_namespaces", 0},
      {"max_cgroup_namespaces", 0},
      {"max_time_namespaces", 0},
      {"max_inotify_instances", shares.inotify_instances},
      {"max_inotify_watches", shares.inotify_watches},
      {"max_fanotify_groups", 0},
      {"max_fanotify_marks", 0},
  };
  TRY(const UniqueFd user, sys::open_dir(AT_FDCWD, "/proc/sys/user"));
  for (const Quota& quota : quotas) {
    auto set = sys::write_control(user.get(), quota.name, std::to_string(quota.most));
    // A kernel without the facility has no quota for it either.
    if (!set && set.error().sys_errno() != ENOENT) return set;
  }
  return {};
}

Result<> bound_socket_buffers() {
  const auto ipv4 = sys::open_dir(AT_FDCWD, "/proc/sys/net/ipv4");
  if (!ipv4) return {};
  (void)sys::write_control(ipv4->get(), "tcp_rmem", "4096 65536 262144");
  (void)sys::write_control(ipv4->get(), "tcp_wmem", "4096 16384 262144");
  return {};
}

}  // namespace glovebox::agent
