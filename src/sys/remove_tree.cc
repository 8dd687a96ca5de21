#include "sys/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/id.h"

namespace glovebox::sys {
namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory open_listing(int at, const char* name) {
  // The owner may have taken away his own rights to it. A link in its place would be followed by
  // this, and changed where it leads; but no live process could put one there.
  struct stat info {};
  if (::fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return {nullptr, ::closedir};
  if (!S_ISDIR(info.st_mode)) {
    errno = ENOTDIR;
    return {nullptr, ::closedir};
  }
  if ((info.st_mode & 0700) != 0700) (void)!::fchmodat(at, name, 0700, 0);
  const int fd = ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return {nullptr, ::closedir};
  return {::fdopendir(fd), ::closedir};
}

bool is_dots(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// Removes the files of top/name, moves its directories up into `top` under names of our own, and
// removes it. What was deep becomes wide, so depth cannot exhaust us.
Result<> flatten(int top, const char* name, const std::string& prefix, unsigned long& counter) {
  {
    const Directory directory = open_listing(top, name);
    if (!directory) return fail(Error::from_errno("open a directory"));
    while (const dirent* entry = ::readdir(directory.get())) {
      if (is_dots(entry->d_name)) continue;
      const int here = ::dirfd(directory.get());
      if (::unlinkat(here, entry->d_name, 0) == 0 || errno == ENOENT) continue;
      if (errno != EISDIR && errno != EPERM) return fail(Error::from_errno("remove a file"));
      // Moving a directory changes its "..", for which one needs the right to write it.
      (void)!::fchmodat(here, entry->d_name, 0700, 0);
      const std::string moved = prefix + std::to_string(counter++);
      if (::renameat2(here, entry->d_name, top, moved.c_str(), RENAME_NOREPLACE) != 0) {
        return fail(Error::from_errno("move a directory"));
      }
    }
  }
  if (::unlinkat(top, name, AT_REMOVEDIR) != 0)
    return fail(Error::from_errno("remove a directory"));
  return {};
}

}  // namespace

Result<> remove_tree(const std::string& path) {
  unsigned long counter = 0;
  const std::string prefix = ".gbx-" + random_label(16) + "-";  // not to be guessed beforehand
  // Each round empties the top of what it finds there; what was moved up is found in the next.
  for (bool found = true; found;) {
    found = false;
    const Directory top = open_listing(AT_FDCWD, path.c_str());
    if (!top) return errno == ENOENT ? Result<>{} : fail(Error::from_errno("open " + path));
    while (const dirent* entry = ::readdir(top.get())) {
      if (is_dots(entry->d_name)) continue;
      found = true;
      if (::unlinkat(::dirfd(top.get()), entry->d_name, 0) == 0 || errno == ENOENT) continue;
      const std::string name = entry->d_name;
      TRY_OK(flatten(::dirfd(top.get()), name.c_str(), prefix, counter));
    }
  }
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT)
    return fail(Error::from_errno("remove " + path));
  return {};
}

}  // namespace glovebox::sys
