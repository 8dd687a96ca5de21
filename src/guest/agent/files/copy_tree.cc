#include "guest/agent/files/copy_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "base/write_all.h"
#include "guest/agent/files/entry.h"
#include "guest/agent/files/tree_walk.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kCopyAtOnce = 1024 * 1024;

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Without the right owner a copy must not be setuid.
unsigned mode_for(const struct stat& info, bool owned) {
  return info.st_mode & (owned ? 07777u : 01777u);
}

// Copies the client's metadata where the file system can store it.
Result<> take_along(int from, int to) {
  auto written = write_metadata(to, read_metadata(from));
  if (!written && written.error().sys_errno() == EOPNOTSUPP) return {};
  return written;
}

Result<> dress_open(int fd, const struct stat& info) {
  const bool owned = ::fchown(fd, info.st_uid, info.st_gid) == 0;
  TRY_OK(set_mode(fd, mode_for(info, owned)));
  const timespec times[2] = {info.st_atim, info.st_mtim};
  if (::futimens(fd, times) != 0) return fail_with(errno);
  return {};
}

Result<> apply_attributes_by_name(int dir, const std::string& name, const struct stat& info) {
  // A symlink has no mode; changing it by name could affect another file.
  (void)!::fchownat(dir, name.c_str(), info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW);
  const timespec times[2] = {info.st_atim, info.st_mtim};
  (void)::utimensat(dir, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return {};
}

Result<std::uint64_t> copy_range(int from, int to, off_t at, std::uint64_t size) {
  std::uint64_t done = 0;
  std::string buffer;
  bool in_kernel = true;
  while (done < size) {
    off_t here = at + static_cast<off_t>(done);
    off_t there = here;
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(size - done, kCopyAtOnce));
    ssize_t moved = -1;
    if (in_kernel) {
      moved = ::copy_file_range(from, &here, to, &there, want, 0);
      if (moved < 0 && errno != EINTR && errno != ENOSPC && errno != EDQUOT && errno != EFBIG) {
        in_kernel = false;
        continue;
      }
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0) return fail_with(errno);
    } else {
      buffer.resize(want);
      moved = ::pread(from, buffer.data(), want, here);
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0) return fail_with(errno);
      if (::lseek(to, there, SEEK_SET) < 0) return fail_with(errno);
      TRY_OK(write_all(to, std::string_view(buffer).substr(0, static_cast<std::size_t>(moved))));
    }
    if (moved == 0) break;
    done += static_cast<std::uint64_t>(moved);
  }
  return done;
}

class TreeCopy {
 public:
  TreeCopy(Replace replace, CopyCounts& copied) : replace_(replace), copied_(copied) {}

  // Not a directory.
  Result<> copy_entry(int from, const std::string& name, int to, const std::string& new_name,
                      const struct stat& info) {
    switch (info.st_mode & S_IFMT) {
      case S_IFREG:
        return copy_regular(from, name, to, new_name);
      case S_IFLNK:
        return copy_link(from, name, to, new_name, info);
      case S_IFIFO:
        return make(to, new_name, info, [&](const std::string& as) {
          return ::mkfifoat(to, as.c_str(), info.st_mode & 0777u);
        });
      default:
        return {};  // sockets and devices are not copied
    }
  }

  Result<> copy_directory(UniqueFd from, UniqueFd to);

 private:
  template <class Make>
  Result<> make(int to, const std::string& name, const struct stat& info, Make make_as) {
    if (make_as(name) != 0) {
      if (errno != EEXIST || replace_ == Replace::kNo) return fail_with(errno);
      const std::string temporary = temporary_name();
      if (make_as(temporary) != 0) return fail_with(errno);
      if (::renameat(to, temporary.c_str(), to, name.c_str()) != 0) {
        const int error = errno;
        (void)::unlinkat(to, temporary.c_str(), 0);
        return fail_with(error);
      }
    }
    ++copied_.entries;
    return apply_attributes_by_name(to, name, info);
  }

  Result<> copy_regular(int from, const std::string& name, int to, const std::string& new_name);
  Result<> copy_link(int from, const std::string& name, int to, const std::string& new_name,
                     const struct stat& info);
  Result<> enter(TreeWalk& walk, DirStack& made, const std::string& name);

  Replace replace_;
  CopyCounts& copied_;
  struct stat destination_ {};  // the first directory that is copied to
  std::vector<struct stat>
      directories_;  // those the walk is in, to apply_attributes when it leaves
};

Result<> TreeCopy::copy_regular(int from, const std::string& name, int to,
                                const std::string& new_name) {
  struct stat info {};
  TRY(const UniqueFd source, open_content(from, name, false, info));
  auto direct = open_path(to, new_name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0600);
  if (direct) {
    auto outcome = copy_content(source.get(), direct->get(),
                                static_cast<std::uint64_t>(info.st_size), copied_.bytes);
    if (outcome) outcome = take_along(source.get(), direct->get());
    if (outcome) outcome = dress_open(direct->get(), info);
    if (!outcome) {
      (void)::unlinkat(to, new_name.c_str(), 0);
      return outcome;
    }
    ++copied_.entries;
    return {};
  }
  if (direct.error().sys_errno() != EEXIST || replace_ == Replace::kNo) {
    return fail(std::move(direct.error()));
  }
  struct stat old {};
  if (::fstatat(to, new_name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0) {
    if (same_file(old, info)) {
      return fail(Error(Errc::kInvalidArgument, "source and target are the same file", EINVAL));
    }
    if (S_ISDIR(old.st_mode)) return fail_with(EISDIR);
  }
  TRY(NewFile file, NewFile::make(to));
  TRY_OK(copy_content(source.get(), file.fd(), static_cast<std::uint64_t>(info.st_size),
                      copied_.bytes));
  TRY_OK(take_along(source.get(), file.fd()));
  TRY_OK(dress_open(file.fd(), info));
  TRY_OK(file.put(new_name, replace_));
  ++copied_.entries;
  return {};
}

Result<> TreeCopy::copy_link(int from, const std::string& name, int to, const std::string& new_name,
                             const struct stat& info) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(from, name.c_str(), target.data(), target.size());
  if (size < 0) return fail_with(errno);
  target.resize(static_cast<std::size_t>(size));
  return make(to, new_name, info,
              [&](const std::string& as) { return ::symlinkat(target.c_str(), to, as.c_str()); });
}

Result<> TreeCopy::enter(TreeWalk& walk, DirStack& made, const std::string& name) {
  auto source = open_child(walk.dir(), name);
  if (!source && is_gone(source.error().sys_errno())) return {};
  if (!source) return fail(std::move(source.error()));
  struct stat info {};
  if (::fstat(source->get(), &info) != 0) return fail_with(errno);
  if (in_proc(source->get())) return {};
  if (same_file(info, destination_)) {
    return fail(Error(Errc::kInvalidArgument, "a directory cannot be copied into itself", EINVAL));
  }
  if (::mkdirat(made.top(), name.c_str(), 0700) != 0 && errno != EEXIST) return fail_with(errno);
  TRY(UniqueFd target, open_child(made.top(), name));
  TRY_OK(walk.enter(name, std::move(*source)));
  TRY_OK(made.push(std::move(target)));
  directories_.push_back(info);
  ++copied_.entries;
  return {};
}

Result<> TreeCopy::copy_directory(UniqueFd from, UniqueFd to) {
  struct stat top {};
  if (::fstat(from.get(), &top) != 0 || ::fstat(to.get(), &destination_) != 0) {
    return fail_with(errno);
  }
  directories_.push_back(top);
  ++copied_.entries;
  TreeWalk walk(std::move(from));
  DirStack made;
  TRY_OK(made.push(std::move(to)));
  for (;;) {
    TRY(const DirName* name, walk.next());
    if (name == nullptr) {
      TRY_OK(dress_open(made.top(), directories_.back()));
      directories_.pop_back();
      TRY(const bool more, walk.leave());
      if (!more) return {};
      TRY_OK(made.pop());
      continue;
    }
    struct stat info {};
    if (::fstatat(walk.dir(), name->name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    auto outcome = S_ISDIR(info.st_mode)
                       ? enter(walk, made, name->name)
                       : copy_entry(walk.dir(), name->name, made.top(), name->name, info);
    if (outcome) continue;
    struct stat still {};
    const bool gone = ::fstatat(walk.dir(), name->name.c_str(), &still, AT_SYMLINK_NOFOLLOW) != 0 ||
                      !same_file(info, still);
    if (gone && is_gone(outcome.error().sys_errno())) continue;
    return fail(std::move(outcome.error()).context(walk.path() + name->name));
  }
}

// Whether `dir` is, or is below, what `info` is of.
Result<bool> is_directory_below(int dir, const struct stat& info) {
  TRY(UniqueFd at, open_path(dir, ".", O_PATH | O_DIRECTORY));
  struct stat last {};
  for (;;) {
    struct stat here {};
    if (::fstat(at.get(), &here) != 0) return fail_with(errno);
    if (same_file(here, info)) return true;
    if (same_file(here, last)) return false;  // the root is above itself
    last = here;
    TRY(at, open_path(at.get(), "..", O_PATH | O_DIRECTORY));
  }
}

}  // namespace

Result<> copy_content(int from, int to, std::uint64_t size, std::uint64_t& bytes) {
  off_t at = 0;
  const auto end = static_cast<off_t>(size);
  while (at < end) {
    off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // nothing but a hole
    off_t hole = data < 0 ? end : ::lseek(from, data, SEEK_HOLE);
    if (data < 0) data = at;  // a file system that does not know: all of it
    if (hole < 0) hole = end;
    if (data >= end) break;
    hole = std::min(hole, end);
    TRY(const std::uint64_t done,
        copy_range(from, to, data, static_cast<std::uint64_t>(hole - data)));
    bytes += done;
    if (done < static_cast<std::uint64_t>(hole - data)) break;  // it became shorter
    at = hole;
  }
  if (::ftruncate(to, end) != 0) return fail_with(errno);
  return {};
}

Result<> copy_tree(const ResolvedPath& from, const ResolvedPath& to, Trees trees, Replace replace,
                   CopyCounts& copied) {
  TreeCopy copy(replace, copied);
  struct stat info {};
  if (::fstatat(from.dir.get(), from.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail_with(errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    const mode_t kind = info.st_mode & S_IFMT;
    if (kind != S_IFREG && kind != S_IFLNK && kind != S_IFIFO) {
      return fail(Error(Errc::kInvalidArgument, "devices and sockets cannot be copied", EINVAL));
    }
    return copy.copy_entry(from.dir.get(), from.name, to.dir.get(), to.name, info);
  }
  if (trees == Trees::kRefuse) return fail_with(EISDIR);
  TRY(UniqueFd source, open_child(from.dir.get(), from.name));
  if (in_proc(source.get())) return fail_with(EACCES);
  if (::fstat(source.get(), &info) != 0) return fail_with(errno);
  TRY(const bool inside, is_directory_below(to.dir.get(), info));
  if (inside) {
    return fail(Error(Errc::kInvalidArgument, "a directory cannot be copied into itself", EINVAL));
  }
  if (::mkdirat(to.dir.get(), to.name.c_str(), 0700) != 0 &&
      (errno != EEXIST || replace == Replace::kNo)) {
    return fail_with(errno);
  }
  TRY(UniqueFd target, open_child(to.dir.get(), to.name));
  struct stat made {};
  if (::fstat(target.get(), &made) != 0) return fail_with(errno);
  if (same_file(made, info)) {
    return fail(Error(Errc::kInvalidArgument, "source and target are the same directory", EINVAL));
  }
  return copy.copy_directory(std::move(source), std::move(target));
}

}  // namespace glovebox::agent
