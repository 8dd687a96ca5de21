// Writes a whole file atomically, creating its parents, and creates directories. The existing file
// is checked before the data arrives.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>

#include "guest/agent/files/entry.h"
#include "guest/agent/files/new_file.h"
#include "guest/agent/files/operations.h"

namespace glovebox::agent {
namespace {

constexpr unsigned kFileMode = 0644;

// What is there already, which may be nothing.
Result<std::optional<struct stat>> stat_existing(const ResolvedPath& resolved) {
  struct stat info {};
  if (::fstatat(resolved.dir.get(), resolved.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<struct stat>();
    return fail_with(errno);
  }
  return std::optional<struct stat>(info);
}

Result<> may_be_replaced(const struct stat& info, const wire::FileRequest& request) {
  if (S_ISDIR(info.st_mode)) return fail_with(EISDIR);
  if (!request.overwrite) return fail_with(EEXIST);
  if (!S_ISREG(info.st_mode)) {
    return fail(Error(Errc::kInvalidArgument, "not a regular file", EINVAL));
  }
  return {};
}

// As asked for; else as the one it replaces; else as any new file.
Result<> apply_attributes(int file, const wire::FileRequest& request, const Owner& owner,
                          const std::optional<struct stat>& old) {
  unsigned mode = request.mode.value_or(old ? old->st_mode & 07777u : kFileMode);
  if (owner.given()) {
    if (::fchown(file, owner.uid, owner.gid) != 0) return fail_with(errno, "change the owner");
  } else if (old && ::fchown(file, old->st_uid, old->st_gid) != 0 && !request.mode) {
    mode &= 0777u;  // the owner changes: it must not be setuid
  }
  return set_mode(file, mode);
}

Result<> tell_entry(HelperLink& link, int fd, const UserNames& names) {
  TRY(wire::FileEntry entry, stat_entry(fd, "", names));
  if (link.request().details) entry.metadata = read_metadata(fd);
  entry.path = link.request().path;
  link.done.entry = wire::encode_record(entry);
  return {};
}

// A file that one may not write to is not replaced just because its directory is writable.
Result<> may_write(const ResolvedPath& resolved) {
  const long answer = ::syscall(SYS_faccessat2, resolved.dir.get(), resolved.name.c_str(), W_OK,
                                AT_EACCESS | AT_SYMLINK_NOFOLLOW);
  if (answer != 0 && (errno == EACCES || errno == EROFS)) return fail_with(errno);
  return {};
}

}  // namespace

Result<> write_file(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  const UserNames names = UserNames::read();
  TRY(const Owner owner, names.owner(request.owner));
  TRY(ResolvedPath named, resolve_creating_parents(request.path, owner));
  TRY(const ResolvedPath resolved, follow_links(std::move(named)));
  TRY(const std::optional<struct stat> old, stat_existing(resolved));
  if (old) {
    TRY_OK(may_be_replaced(*old, request));
    TRY_OK(may_write(resolved));
  }
  TRY(NewFile file, NewFile::make(resolved.dir.get()));
  TRY_OK(link.opened());
  TRY_OK(receive_all(link.data(), file.fd(), link.done.bytes));
  TRY_OK(link.wait_for_commit());
  // While it is still ours, and may be written to.
  TRY_OK(write_metadata(file.fd(), request.metadata));
  TRY_OK(apply_attributes(file.fd(), request, owner, old));
  TRY_OK(tell_entry(link, file.fd(), names));
  link.done.entries = 1;
  return file.put(resolved.name, request.overwrite ? Replace::kYes : Replace::kNo);
}

Result<> make_directory(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  const UserNames names = UserNames::read();
  TRY(const Owner owner, names.owner(request.owner));
  auto resolved = resolve_creating_parents(request.path, owner);
  // "/" and what ends in "..": it is there, or it is not.
  if (!resolved && resolved.error().sys_errno() != EISDIR) return fail(std::move(resolved.error()));
  const bool made =
      resolved && ::mkdirat(resolved->dir.get(), resolved->name.c_str(), kDirMode) == 0;
  if (resolved && !made && errno != EEXIST) return fail_with(errno);
  const int dir = resolved ? resolved->dir.get() : AT_FDCWD;
  const std::string name = resolved ? resolved->name : request.path;
  auto opened = open_path(dir, name, O_PATH | O_DIRECTORY | (made ? O_NOFOLLOW : 0));
  if (!opened) {
    return fail_with(opened.error().sys_errno() == ENOTDIR ? EEXIST : opened.error().sys_errno());
  }
  if (made) {
    TRY(const UniqueFd readable, open_child(dir, name));
    if (owner.given() && ::fchown(readable.get(), owner.uid, owner.gid) != 0) {
      return fail_with(errno, "change the owner");
    }
    if (request.mode) TRY_OK(set_mode(readable.get(), *request.mode));
    link.done.entries = 1;
  }
  return tell_entry(link, opened->get(), names);
}

}  // namespace glovebox::agent
