#include "guest/agent/run/guest_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/assert.h"
#include "guest/agent/init/guest_ids.h"

namespace glovebox::agent {
namespace {

Result<UniqueFd> open_plain(const std::string& path, int flags, unsigned mode) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  // A link of /proc/self/fd would lead to a descriptor of the agent, not of the guest.
  how.resolve = RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  if (!fd) return fail(Error::from_errno("open " + path));
  struct stat info {};
  struct statfs where {};
  if (::fstat(fd.get(), &info) != 0 || ::fstatfs(fd.get(), &where) != 0) {
    return fail(Error::from_errno("stat " + path));
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(Error(Errc::kInvalidArgument, path + " is not a regular file", EINVAL));
  }
  // "self" there is the agent.
  if (where.f_type == PROC_SUPER_MAGIC) {
    return fail(Error(Errc::kPermissionDenied, path + ": files in /proc cannot be read", EACCES));
  }
  return fd;
}

}  // namespace

AsGuestUser::AsGuestUser(bool change_user) : AsGuestUser(change_user, kGuestUid, kGuestGid) {}

AsGuestUser::AsGuestUser(bool change_user, uid_t uid, gid_t gid) : changed_(change_user) {
  if (!changed_) return;
  ::setfsgid(gid);
  ::setfsuid(uid);
  // setfsuid reports no error; asking again with an impossible id tells what it is now.
  GBX_ASSERT(static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))) == uid);
}

AsGuestUser::~AsGuestUser() {
  if (!changed_) return;
  ::setfsuid(0);
  ::setfsgid(0);
}

Result<UniqueFd> create_guest_file(const std::string& path, unsigned mode) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (::mkdir(parent.c_str(), 0755) == 0 || errno == EEXIST) continue;
    // No right to make it and it is there: the open below tells what matters.
    if (errno == EACCES || errno == EROFS) continue;
    return fail(Error::from_errno("create directory " + parent));
  }
  TRY(UniqueFd fd, open_plain(path, O_WRONLY | O_CREAT, mode));
  if (::ftruncate(fd.get(), 0) != 0 || ::fchmod(fd.get(), mode) != 0) {
    return fail(Error::from_errno("write " + path));
  }
  return fd;
}

Result<UniqueFd> open_guest_file(const std::string& path) { return open_plain(path, O_RDONLY, 0); }

}  // namespace glovebox::agent
