#include "launcher/jail/jail_mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/shell_quote.h"
#include "launcher/jail/idmap.h"
#include "launcher/policy/request_checks.h"

namespace glovebox::launcher {
namespace {

// Only ordinary groups are mapped: a user's directory may belong to root's group.
constexpr std::uint32_t kFirstOrdinaryGroup = 1000;
constexpr std::uint32_t kNobody = 65534;

std::string path_of(int fd) {
  char name[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), name, sizeof name);
  return std::string(name, size > 0 ? static_cast<std::size_t>(size) : 0);
}

HostUser without_system_groups(std::uint32_t uid, std::uint32_t gid) {
  return {uid, gid >= kFirstOrdinaryGroup ? gid : uid};
}

// A directory at the top of the tree, or one of the system's below it: no advice to give it away.
bool is_systems(const std::string& path) {
  if (path.find('/', 1) == std::string::npos) return true;
  for (const char* system : {"/bin/", "/boot/", "/dev/", "/etc/", "/lib", "/proc/", "/run/",
                             "/sbin/", "/sys/", "/usr/"}) {
    if (path.starts_with(system)) return true;
  }
  return false;
}

// Says no more of the host than the caller knows: of an entry of the administrator's list only its
// name, and of a path that a server's client gave no owner. `info`: of the source.
Error not_writable(const wire::MountRequest& mount, const std::string& path,
                   const struct stat& info) {
  constexpr const char* kWhy =
      ", and a guest is never host root or in a system group, so it cannot be mounted writable: ";
  if (!mount.name.empty() && mount.name[0] != '/') {
    return Error(Errc::kPolicy, "mount '" + mount.name + "' belongs to the system" + kWhy +
                                    "ask the administrator, or mount it read-only");
  }
  if (is_systems(path)) {
    return Error(Errc::kPolicy,
                 "'" + path + "' belongs to the system" + kWhy + "mount a directory of your own");
  }
  const bool is_callers = mount.name.empty();  // who has opened it, so its owner is no secret
  const std::uint32_t user =
      is_callers && info.st_uid >= kFirstOrdinaryGroup ? info.st_uid : kNobody;
  const std::string owner = std::to_string(user) + ":" + std::to_string(user);
  return Error(Errc::kPolicy, "'" + path + "' is owned by root, a system user or a system group" +
                                  kWhy + "run `chown -R " + owner + " " + shell_quoted(path) +
                                  "` (or another ordinary user and group), or set mounts.uid in "
                                  "/etc/glovebox/policy.toml");
}

Result<HostUser> mapped_user(const MountContext& context, int fd, const wire::MountRequest& mount,
                             const Caller& caller) {
  if (context.rootless) return HostUser{};  // only one user is mapped
  if (caller.uid != 0) return without_system_groups(caller.uid, caller.gid);
  if (context.policy.mount_uid != 0)
    return HostUser{context.policy.mount_uid, context.policy.mount_uid};
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(Error::from_errno("stat a mount's source"));
  // A guest is never host root. A system group is not mapped, and the kernel denies writing to
  // files with an unmapped owner.
  const bool is_roots = info.st_uid == 0 || info.st_gid < kFirstOrdinaryGroup;
  if (is_roots && mount.mode == MountMode::kReadWrite) {
    return fail(not_writable(mount, path_of(fd), info));
  }
  return without_system_groups(info.st_uid, info.st_gid);
}

// An entry of the administrator's list, opened with root's rights. A guest may be able to write to
// a directory above it, so no symlink in the path is followed.
Result<UniqueFd> open_listed(const std::string& path, const std::string& name) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  if (fd) return fd;
  if (errno == ELOOP) {
    return fail(Errc::kPolicy, "mount '" + name + "': its path contains a symlink");
  }
  Error error = Error::from_errno("mount '" + name + "'");
  const int why = error.sys_errno();
  if (why != ENOENT && why != ENOTDIR && why != ENAMETOOLONG) return fail(std::move(error));
  // A missing path that the caller named is the caller's mistake; a missing directory of a listed
  // entry is reported like an entry that is not listed.
  return fail(name[0] == '/' ? Errc::kInvalidArgument : Errc::kPolicy, error.message());
}

// If the policy lists directories, a source must be below one of them.
Result<> check_listed_source(const Policy& policy, int source) {
  const std::vector<std::string>& sources = policy.mount_sources;
  if (sources.empty()) return {};
  const std::string path = path_of(source);
  const auto covers = [&path](const std::string& one) {
    return path == one || path.rfind(one + "/", 0) == 0;
  };
  if (std::any_of(sources.begin(), sources.end(), covers)) return {};
  return fail(Errc::kPolicy,
              "the launcher's policy does not allow mounting '" + path + "' (mounts.sources)");
}

}  // namespace

Result<std::vector<UniqueFd>> build_mounts(const MountContext& context,
                                           std::span<const wire::MountRequest> mounts,
                                           std::span<const UniqueFd> fds, const Caller& caller,
                                           std::uint32_t host_uid) {
  std::vector<UniqueFd> trees;
  std::size_t given = 0;
  for (const wire::MountRequest& mount : mounts) {
    UniqueFd listed;
    if (!mount.name.empty()) {
      const bool is_path = mount.name[0] == '/';
      TRY(listed,
          open_listed(is_path ? mount.name : context.policy.named_mounts.at(mount.name).path,
                      mount.name));
      if (is_path) TRY_OK(check_listed_source(context.policy, listed.get()));
    }
    const int source = listed ? listed.get() : fds[given++].get();
    TRY_OK(refuse_special_files(source));
    TRY_OK(refuse_kernel_filesystems(source));
    if (!listed) TRY_OK(check_listed_source(context.policy, source));
    TRY(const HostUser mapped, mapped_user(context, source, mount, caller));
    auto tree = context.files.build_mount(source, mount.mode, mapped, host_uid + kGuestUser);
    if (!tree) return fail(std::move(tree.error()).context("mount " + mount.guest.str()));
    trees.push_back(std::move(*tree));
  }
  return trees;
}

}  // namespace glovebox::launcher
