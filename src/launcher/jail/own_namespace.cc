#include "launcher/jail/own_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <string>

#include "sys/file.h"

namespace glovebox::launcher {

Result<> enter_own_namespace(bool rootless) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (::unshare(CLONE_NEWNS | (rootless ? CLONE_NEWUSER : 0)) != 0) {
    Error error =
        Error::from_errno(rootless ? "create a user namespace" : "create a mount namespace");
    if (rootless) {
      return fail(std::move(error).context(
          "this host does not let ordinary users create user namespaces (see `glovebox doctor`)"));
    }
    return fail(std::move(error));
  }
  if (rootless) {
    // Without this the kernel lets only root map groups.
    TRY_OK(sys::write_control(AT_FDCWD, "/proc/self/setgroups", "deny"));
    TRY_OK(sys::write_control(AT_FDCWD, "/proc/self/uid_map", "0 " + std::to_string(uid) + " 1"));
    TRY_OK(sys::write_control(AT_FDCWD, "/proc/self/gid_map", "0 " + std::to_string(gid) + " 1"));
  }
  // Mounts of the host propagate here, so that callers can use them; ours do not propagate back.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return fail(Error::from_errno("make the launcher's mounts slaves of the host's"));
  }
  return {};
}

}  // namespace glovebox::launcher
