#include "launcher/jail/copy_mounter.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "sys/mount.h"

namespace glovebox::launcher {
namespace {

constexpr std::uint64_t kCopyFlags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
// Below the scratch directory.
constexpr const char* kShared = "/copies";
constexpr const char* kOwn = "/own-copies";

// In a tmpfs that is mounted at `place`.
Result<RootCopies> copies_at(const std::string& place, const std::string& layer,
                             std::uint32_t owner) {
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(Error::from_errno("make " + place));
  }
  // A bound for a strange host, not a size: some megabytes of files, and the directories of /usr.
  const std::vector<sys::MountOption> options = {
      {"size", "512m"}, {"nr_inodes", "500000"}, {"mode", "0755"}};
  TRY(const UniqueFd tmpfs, sys::new_mount("tmpfs", options, MOUNT_ATTR_NODEV));
  TRY_OK(sys::attach_mount(tmpfs.get(), AT_FDCWD, place));
  auto made = make_root_copies(place, layer, "/usr", owner);
  if (!made) (void)sys::detach(place);
  return made;
}

// With the owners that the namespace maps; -1: as they are.
Result<UniqueFd> restricted_clone(const std::string& path, int userns) {
  TRY(UniqueFd mount, sys::clone_mount(AT_FDCWD, path, sys::Submounts::kLeaveOut));
  TRY_OK(sys::restrict_mount(mount.get(), kCopyFlags, sys::Submounts::kLeaveOut, userns));
  return mount;
}

Result<CopyMounts> mounts_of(const RootCopies& copies, int userns) {
  CopyMounts mounts;
  TRY(mounts.root, restricted_clone(copies.root, userns));
  TRY(mounts.usr, restricted_clone(copies.usr, userns));
  return mounts;
}

}  // namespace

Result<CopyMounts> CopyMounter::mount_for(const std::string& layer, std::uint32_t host_uid,
                                          int userns) {
  if (can_share_) {
    auto mounts = mount_shared(layer, userns);
    const int error = mounts ? 0 : mounts.error().sys_errno();
    if (error != EINVAL && error != EOPNOTSUPP) return mounts;
    can_share_ = false;  // before Linux 6.3 a tmpfs cannot be idmapped
    clear();
  }
  return mount_own(layer, host_uid);
}

Result<CopyMounts> CopyMounter::mount_shared(const std::string& layer, int userns) {
  if (!shared_) {
    TRY(shared_, copies_at(scratch_ + kShared, layer, 0));
  }
  return mounts_of(*shared_, userns);
}

// They go with the session.
Result<CopyMounts> CopyMounter::mount_own(const std::string& layer, std::uint32_t host_uid) const {
  const std::string place = scratch_ + kOwn;
  TRY(const RootCopies copies, copies_at(place, layer, host_uid));
  auto mounts = mounts_of(copies, -1);
  (void)sys::detach(place);
  return mounts;
}

void CopyMounter::clear() {
  if (shared_) (void)sys::detach(scratch_ + kShared);
  shared_.reset();
}

}  // namespace glovebox::launcher
