#include "sys/mount.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>

extern "C" int umount2(const char*, int);  // <sys/mount.h> and <linux/mount.h> clash in glibc 2.36

namespace glovebox::sys {
namespace {

constexpr int kMntDetach = 2;

// The kernel explains a refused filesystem in the context's own log: "e overlay: ...".
std::string mount_log(int context) {
  char line[256];
  const ssize_t got = ::read(context, line, sizeof line - 1);
  if (got <= 2) return "";
  std::string text(line + 2, static_cast<std::size_t>(got) - 2);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return " (" + text + ")";
}

Result<> set_options(int context, const char* what, const std::vector<MountOption>& options) {
  for (const auto& [key, value] : options) {
    const long done =
        value.empty()
            ? ::syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, key.c_str(), nullptr, 0)
            : ::syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key.c_str(), value.c_str(), 0);
    if (done != 0) {
      const int err = errno;
      return fail(Error::from_errno(
          std::string("mount ") + what + ": option " + key + mount_log(context), err));
    }
  }
  return {};
}

Result<UniqueFd> create(const UniqueFd& context, const char* type, std::uint64_t attributes) {
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    const int err = errno;
    return fail(Error::from_errno(std::string("mount ") + type + mount_log(context.get()), err));
  }
  UniqueFd mount(static_cast<int>(
      ::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes))));
  if (!mount) return fail(Error::from_errno(std::string("mount ") + type));
  return mount;
}

}  // namespace

Result<UniqueFd> clone_mount(int dir_fd, std::string_view path, Submounts submounts) {
  unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
  if (path.empty()) flags |= AT_EMPTY_PATH;
  if (submounts == Submounts::kTakeAlong) flags |= AT_RECURSIVE;
  UniqueFd fd(static_cast<int>(::syscall(SYS_open_tree, dir_fd, std::string(path).c_str(), flags)));
  if (!fd) return fail(Error::from_errno("clone mount of " + std::string(path)));
  return fd;
}

Result<> restrict_mount(int mount_fd, std::uint64_t attributes, Submounts submounts,
                        int idmap_userns_fd) {
  mount_attr attr{};
  attr.attr_set = attributes;
  if (idmap_userns_fd >= 0) {
    attr.attr_set |= MOUNT_ATTR_IDMAP;
    attr.userns_fd = static_cast<std::uint64_t>(idmap_userns_fd);
  }
  unsigned flags = AT_EMPTY_PATH;
  if (submounts == Submounts::kTakeAlong) flags |= AT_RECURSIVE;
  if (::syscall(SYS_mount_setattr, mount_fd, "", flags, &attr, sizeof attr) != 0) {
    return fail(Error::from_errno(idmap_userns_fd >= 0 ? "idmap a mount" : "restrict a mount"));
  }
  return {};
}

Result<UniqueFd> new_mount(const char* type, const std::vector<MountOption>& options,
                           std::uint64_t attributes) {
  UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, type, FSOPEN_CLOEXEC)));
  if (!context) return fail(Error::from_errno(std::string("open filesystem ") + type));
  TRY_OK(set_options(context.get(), type, options));
  return create(context, type, attributes);
}

Result<UniqueFd> new_overlay(const OverlayByFd& layers, std::uint64_t attributes) {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC)));
  if (!context) return fail(Error::from_errno("open filesystem overlay"));
  const auto set = [&context](const char* key, int fd) {
    return ::syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_FD, key, nullptr, fd) == 0;
  };
  for (const int layer : layers.lower) {
    if (!set("lowerdir+", layer)) return fail(Error::from_errno("overlay: set a lower layer"));
  }
  if (layers.upper >= 0 && (!set("upperdir", layers.upper) || !set("workdir", layers.work))) {
    return fail(Error::from_errno("overlay: set the upper layer"));
  }
  TRY_OK(set_options(context.get(), "overlay", layers.options));
  return create(context, "overlay", attributes);
}

Result<> reconfigure(int mount_fd, const std::vector<MountOption>& options) {
  const UniqueFd context(
      static_cast<int>(::syscall(SYS_fspick, mount_fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH)));
  if (!context) return fail(Error::from_errno("open the filesystem of a mount"));
  TRY_OK(set_options(context.get(), "again", options));
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) != 0) {
    return fail(Error::from_errno("reconfigure a filesystem"));
  }
  return {};
}

Result<> attach_mount(int mount_fd, int dir_fd, std::string_view path) {
  if (::syscall(SYS_move_mount, mount_fd, "", dir_fd, std::string(path).c_str(),
                MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    return fail(Error::from_errno("attach mount at " + std::string(path)));
  }
  return {};
}

Result<> detach(const std::string& path) {
  if (::umount2(path.c_str(), kMntDetach) != 0) {
    return fail(Error::from_errno("detach mount at " + path));
  }
  return {};
}

std::string fd_path(int fd, std::string_view below) {
  return "/proc/self/fd/" + std::to_string(fd) + std::string(below);
}

}  // namespace glovebox::sys
