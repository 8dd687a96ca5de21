#include "guest/agent/files/resolved_path.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <vector>

#include "base/id.h"

namespace glovebox::agent {
namespace {

constexpr std::string_view kTemporary = ".glovebox-";
constexpr std::size_t kTemporaryLetters = 16;
constexpr int kMaxLinks = 40;  // as the kernel has it

struct Parts {
  std::string parent;  // empty: the directory it starts at
  std::string name;
};

// "/a//b/" is "/a" and "b".
Parts split_path(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", std::string(path)};
  return {std::string(path.substr(0, slash + 1)), std::string(path.substr(slash + 1))};
}

bool is_entry(const std::string& name) { return !name.empty() && name != "." && name != ".."; }

Result<UniqueFd> open_dir_path(int dir, const std::string& path) {
  return open_path(dir, path.empty() ? "." : path, O_PATH | O_DIRECTORY);
}

Result<UniqueFd> enter_or_make(int dir, const std::string& name, const Owner& owner) {
  auto opened = open_dir_path(dir, name);
  if (opened || opened.error().sys_errno() != ENOENT) return opened;
  const bool made = ::mkdirat(dir, name.c_str(), kDirMode) == 0;
  if (!made && errno != EEXIST) return fail_with(errno);
  if (made && owner.given() &&
      ::fchownat(dir, name.c_str(), owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail_with(errno, "change the owner of a directory");
  }
  return open_dir_path(dir, name);
}

// The kernel's own files, and those of other processes as far as it lets this user read them. Of
// this process only what it shares with every other: the rest would show our own program.
bool is_readable_proc_file(std::string_view path) {
  constexpr std::string_view kProc = "/proc/";
  if (!path.starts_with(kProc)) return false;
  path.remove_prefix(kProc.size());
  const std::string own = std::to_string(::getpid()) + "/";
  if (!path.starts_with(own)) return true;
  path.remove_prefix(own.size());
  return path == "mounts" || path.starts_with("net/");
}

Result<std::string> read_link(int dir, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(dir, name.c_str(), target.data(), target.size());
  if (size < 0) return fail_with(errno);
  target.resize(static_cast<std::size_t>(size));
  return target;
}

}  // namespace

Result<> set_mode(int fd, unsigned mode) {
  struct statvfs where {};
  if (::fstatvfs(fd, &where) != 0) return fail_with(errno);
  const unsigned most = (where.f_flag & ST_NOSUID) != 0 ? 01777u : 07777u;
  if (::fchmod(fd, mode & most) != 0) return fail_with(errno, "change the mode");
  return {};
}

tl::unexpected<Error> fail_with(int err, const std::string& where) {
  if (!where.empty()) return fail(Error::from_errno(where, err));
  return fail(Error(Errc::kInternal, std::strerror(err), err));
}

Result<UniqueFd> open_path(int dir, const std::string& path, int flags, unsigned mode,
                           std::uint64_t resolve) {
  if (path.find('\0') != std::string::npos) return fail_with(EINVAL);
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  // O_PATH never blocks, and openat2 refuses it together with these.
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY;
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  how.mode = makes ? mode : 0;
  how.resolve = resolve | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, dir, path.c_str(), &how, sizeof how)));
  if (!fd) return fail_with(errno);
  return fd;
}

Result<UniqueFd> open_listing(int dir, const std::string& path, std::uint64_t resolve) {
  return open_path(dir, path, O_RDONLY | O_DIRECTORY, 0, resolve);
}

Result<UniqueFd> open_child(int dir, const std::string& name) {
  return open_path(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

bool in_proc(int fd) {
  struct statfs where {};
  if (::fstatfs(fd, &where) != 0) return true;
  return where.f_type == PROC_SUPER_MAGIC || where.f_type == SYSFS_MAGIC;
}

std::string path_of(int fd) {
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  char path[PATH_MAX];
  const ssize_t size = ::readlink(self.c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

Result<UniqueFd> open_content(int dir, const std::string& path, bool follow, struct stat& info,
                              ProcFiles proc) {
  TRY(UniqueFd fd, open_path(dir, path, O_RDONLY | (follow ? 0 : O_NOFOLLOW)));
  if (::fstat(fd.get(), &info) != 0) return fail_with(errno);
  if (S_ISDIR(info.st_mode)) return fail_with(EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return fail(Error(Errc::kInvalidArgument, "not a regular file", EINVAL));
  }
  if (!in_proc(fd.get())) return fd;
  if (proc == ProcFiles::kRefuse || !is_readable_proc_file(path_of(fd.get()))) {
    return fail(Error(Errc::kPermissionDenied, "this file in /proc cannot be read", EACCES));
  }
  return fd;
}

Result<ResolvedPath> resolve_path(const std::string& path) {
  Parts parts = split_path(path);
  if (!is_entry(parts.name)) {
    return fail(Error(Errc::kInvalidArgument, "the path does not name a directory entry", EINVAL));
  }
  TRY(UniqueFd dir, open_dir_path(AT_FDCWD, parts.parent));
  return ResolvedPath{std::move(dir), std::move(parts.name)};
}

Result<ResolvedPath> resolve_creating_parents(const std::string& path, const Owner& owner) {
  Parts parts = split_path(path);
  if (!is_entry(parts.name)) return fail_with(EISDIR);
  // Usually it exists.
  if (auto dir = open_dir_path(AT_FDCWD, parts.parent)) {
    return ResolvedPath{std::move(*dir), std::move(parts.name)};
  }
  TRY(UniqueFd at, open_dir_path(AT_FDCWD, path.starts_with('/') ? "/" : "."));
  std::string_view rest = parts.parent;
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.empty()) continue;
    TRY(at, enter_or_make(at.get(), name, owner));
  }
  return ResolvedPath{std::move(at), std::move(parts.name)};
}

Result<ResolvedPath> follow_links(ResolvedPath resolved) {
  for (int links = 0; links < kMaxLinks; ++links) {
    if (in_proc(resolved.dir.get())) {
      return fail(Error(Errc::kPermissionDenied, "files in /proc cannot be written", EACCES));
    }
    struct stat info {};
    const bool there =
        ::fstatat(resolved.dir.get(), resolved.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there || !S_ISLNK(info.st_mode)) return resolved;
    TRY(const std::string target, read_link(resolved.dir.get(), resolved.name));
    Parts parts = split_path(target);
    if (!is_entry(parts.name)) return fail_with(EISDIR);
    TRY(resolved.dir, open_dir_path(resolved.dir.get(), parts.parent));
    resolved.name = std::move(parts.name);
  }
  return fail_with(ELOOP);
}

std::string temporary_name() { return std::string(kTemporary) + random_label(kTemporaryLetters); }

bool is_temporary_name(std::string_view name) {
  return name.size() == kTemporary.size() + kTemporaryLetters && name.starts_with(kTemporary);
}

}  // namespace glovebox::agent
