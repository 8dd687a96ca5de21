#include "guest/agent/init/root_view.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace glovebox::agent {

Result<> attach(int mount_fd, const std::string& where) {
  constexpr unsigned kFromDescriptor = 0x00000004;  // MOVE_MOUNT_F_EMPTY_PATH
  if (::syscall(SYS_move_mount, mount_fd, "", AT_FDCWD, where.c_str(), kFromDescriptor) != 0) {
    return fail(Error::from_errno("attach " + where));
  }
  return {};
}

Result<> make_mounts_private() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return fail(Error::from_errno("make mounts private"));
  }
  return {};
}

Result<> mount_proc(const char* options) {
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) != 0) {
    return fail(Error::from_errno("mount proc"));
  }
  return {};
}

Result<> move_proc_and_dev() {
  if (::mount("/proc", "/stage/proc", nullptr, MS_MOVE, nullptr) != 0 ||
      ::mount("/dev", "/stage/dev", nullptr, MS_MOVE, nullptr) != 0) {
    return fail(Error::from_errno("move"));
  }
  return {};
}

Result<> pivot_into_stage() {
  // pivot_root(".", ".") stacks the old root at "/", where it can be detached without a directory
  // to park it in.
  if (::chdir(kStage) != 0) return fail(Error::from_errno("enter the new root"));
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return fail(Error::from_errno("pivot root"));
  if (::umount2(".", MNT_DETACH) != 0) return fail(Error::from_errno("detach the old root"));
  if (::chdir("/") != 0) return fail(Error::from_errno("enter the new root"));
  return {};
}

}  // namespace glovebox::agent
