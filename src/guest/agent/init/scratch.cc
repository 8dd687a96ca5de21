#include "guest/agent/init/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "guest/agent/init/root_view.h"
#include "sys/mount.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {
namespace {

// The kernel's MOUNT_ATTR_RDONLY; <linux/mount.h> and <sys/mount.h> clash in glibc 2.36.
constexpr std::uint64_t kMountReadOnly = 0x1;

Result<> attach_places(const std::vector<UniqueFd>& mounts) {
  std::size_t at = 0;
  for (const char* place : wire::kScratchPlaces) TRY_OK(attach(mounts[at++].get(), place));
  return {};
}

// The only entry may be `expected`.
Result<> check_has_only(const char* path, std::string_view expected) {
  DIR* directory = ::opendir(path);
  if (directory == nullptr) return fail(Error::from_errno(std::string("open ") + path));
  bool other = false;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    other = other || (name != "." && name != ".." && name != expected);
  }
  ::closedir(directory);
  if (!other) return {};
  return fail(Errc::kUnsupported, std::string("the template has files in ") + path +
                                      ", so its sandboxes cannot be used again");
}

}  // namespace

Result<> begin_scratch(std::vector<UniqueFd> mounts) {
  TRY_OK(check_has_only("/home", "user"));
  for (const char* path : {"/home/user", "/tmp", "/var/tmp"}) TRY_OK(check_has_only(path, ""));
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(Error::from_errno("open the root"));
  TRY_OK(sys::restrict_mount(root.get(), kMountReadOnly, sys::Submounts::kLeaveOut));
  // The one that came with the root. Only our own descriptor of it is left.
  TRY_OK(sys::detach("/dev/shm"));
  return attach_places(mounts);
}

Result<> replace_scratch(std::vector<UniqueFd> mounts) {
  for (const char* place : wire::kScratchPlaces) {
    // Not MNT_DETACH: fails if it is still used.
    if (::umount2(place, UMOUNT_NOFOLLOW) != 0) {
      return fail(Error::from_errno(std::string("unmount ") + place));
    }
  }
  return attach_places(mounts);
}

}  // namespace glovebox::agent
