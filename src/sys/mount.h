// Mounts as descriptors: detached trees that are built, restricted and only then attached.
// One function per kernel idiom; the launcher and the agent decide what is mounted where.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// A detached copy of the mount at `path` below `dir_fd` (or of `dir_fd` itself when empty).
// kWithSubmounts copies what is mounted below it too.
enum class Submounts { kLeaveOut, kTakeAlong };
Result<UniqueFd> clone_mount(int dir_fd, std::string_view path, Submounts submounts);

// Sets attributes (MOUNT_ATTR_*) on a mount; with a user namespace, its files' owners are shown
// through that namespace's mapping, which must not have been set before.
Result<> restrict_mount(int mount_fd, std::uint64_t attributes, Submounts submounts,
                        int idmap_userns_fd = -1);

using MountOption = std::pair<std::string, std::string>;  // an empty value is a flag
// A new filesystem, mounted detached.
Result<UniqueFd> new_mount(const char* type, const std::vector<MountOption>& options,
                           std::uint64_t attributes);

// An overlay of directories that are given as descriptors, the topmost layer first. Kernels before
// 6.15 refuse layers that are not attached anywhere. Without an upper it is read-only.
struct OverlayByFd {
  std::vector<int> lower;
  int upper = -1;
  int work = -1;
  std::vector<MountOption> options{};
};
Result<UniqueFd> new_overlay(const OverlayByFd& layers, std::uint64_t attributes);

// Changes options of the filesystem behind a mount: a tmpfs' size.
Result<> reconfigure(int mount_fd, const std::vector<MountOption>& options);

// Attaches a detached mount at `path` below `dir_fd`. The target is not followed if it is a link.
Result<> attach_mount(int mount_fd, int dir_fd, std::string_view path);

Result<> detach(const std::string& path);

// "/proc/self/fd/N" with something below it: how overlayfs is told its layers.
std::string fd_path(int fd, std::string_view below = "");

}  // namespace glovebox::sys
