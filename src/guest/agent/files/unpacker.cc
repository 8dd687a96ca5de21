#include "guest/agent/files/unpacker.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "guest/agent/files/copy_tree.h"
#include "guest/agent/files/extended_attributes.h"
#include "guest/agent/files/remove_tree.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/tar_content.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxDirectories = 1'000'000;
constexpr std::size_t kMaxStep = 2048;  // of a path that is opened in one call
constexpr int kMaxTries = 8;            // if a process keeps creating things in its way

tl::unexpected<Error> refuse(const std::string& why) {
  return fail(Error(Errc::kPolicy, why, EPERM));
}

timespec time_of(const wire::TarEntry& entry) {
  timespec time{};
  time.tv_sec = entry.mtime_s;
  time.tv_nsec = static_cast<long>(entry.mtime_ns);
  return time;
}

unsigned layer_mode(const wire::TarEntry& entry) {
  const bool can_be_run = entry.type == wire::TarType::kDirectory || (entry.mode & 0100u) != 0;
  return can_be_run ? 0755 : 0644;
}

}  // namespace

Result<std::string> clean_name(std::string_view name) {
  std::string clean;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.find('\0') != std::string_view::npos) {
      return fail(Error(Errc::kInvalidArgument, "the archive contains a name with \"..\"", EINVAL));
    }
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  return clean;
}

std::uint64_t Unpacker::resolve() const {
  const std::uint64_t inside = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return rules_.snapshot ? inside | RESOLVE_NO_XDEV : inside;
}

// From `start`, a few components at a time: a whole path may be longer than the kernel takes.
Result<UniqueFd> Unpacker::walk(int start, std::string_view path, Missing missing) {
  UniqueFd at;
  do {
    std::size_t size = path.size();
    if (size > kMaxStep) size = std::min(path.find('/', kMaxStep), path.size());
    const std::string some(path.substr(0, size));
    path.remove_prefix(std::min(path.size(), size + 1));
    const int from = at ? at.get() : start;
    auto opened = open_path(from, some.empty() ? "." : some, O_RDONLY | O_DIRECTORY, 0, resolve());
    if (!opened && opened.error().sys_errno() == ENOENT && missing == Missing::kMake) {
      opened = create_path(from, some);
    }
    if (!opened) return opened;
    at = std::move(*opened);
  } while (!path.empty());
  return at;
}

Result<UniqueFd> Unpacker::create_path(int start, std::string_view path) {
  UniqueFd at;
  while (!path.empty()) {
    const std::string name(path.substr(0, path.find('/')));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    const int from = at ? at.get() : start;
    if (::mkdirat(from, name.c_str(), kDirMode) != 0 && errno != EEXIST) return fail_with(errno);
    TRY(at, open_path(from, name, O_RDONLY | O_DIRECTORY, 0, resolve()));
  }
  return at;
}

Result<UniqueFd> Unpacker::open_parent(std::string_view parent, Missing missing) {
  if (usr_ && (parent == "usr" || parent.starts_with("usr/"))) {
    parent.remove_prefix(std::min<std::size_t>(parent.size(), 4));
    return walk(usr_.get(), parent, missing);
  }
  return walk(top_.get(), parent, missing);
}

Result<Unpacker::Location> Unpacker::find(const std::string& path, Missing missing) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
  if (!parent_fd_ || parent_path_ != parent) {
    // Mostly it is a directory of the one before; "" is not, for what is below may be "usr".
    const bool below =
        parent_fd_ && !parent_path_.empty() && parent.starts_with(parent_path_ + "/");
    auto opened = below ? walk(parent_fd_.get(),
                               std::string_view(parent).substr(parent_path_.size() + 1), missing)
                        : open_parent(parent, missing);
    if (!opened) return fail(std::move(opened.error()));
    parent_fd_ = std::move(*opened);
    parent_path_ = parent;
  }
  return Location{parent_fd_.get(), slash == std::string::npos ? path : path.substr(slash + 1)};
}

// Whatever has the name goes. In a tree that is not a snapshot's a directory stays.
Result<> Unpacker::remove_existing(const Location& location) {
  if (!rules_.snapshot) {
    if (::unlinkat(location.dir, location.name.c_str(), 0) != 0 && errno != ENOENT) {
      return fail_with(errno);
    }
    return {};
  }
  std::uint64_t removed = 0;
  return remove_tree_at(location.dir, location.name, OtherMounts::kLeave, removed);
}

Result<> Unpacker::apply_attributes(int fd, const wire::TarEntry& entry) {
  unsigned mode = entry.mode & 01777u;
  if (rules_.snapshot) {
    if (::fchown(fd, entry.uid, entry.gid) != 0) return fail_with(errno);
    TRY_OK(write_attributes(fd, entry.xattrs));
    mode = entry.mode & 07777u;
  }
  if (rules_.layer) mode = layer_mode(entry);
  TRY_OK(set_mode(fd, mode));
  const timespec times[2] = {time_of(entry), time_of(entry)};
  (void)::futimens(fd, times);  // a time that this file system cannot have
  return {};
}

void Unpacker::apply_attributes_by_name(const Location& location, const wire::TarEntry& entry) {
  if (rules_.snapshot) {
    (void)!::fchownat(location.dir, location.name.c_str(), entry.uid, entry.gid,
                      AT_SYMLINK_NOFOLLOW);
  }
  const timespec times[2] = {time_of(entry), time_of(entry)};
  (void)::utimensat(location.dir, location.name.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

Result<> Unpacker::make_directory(const Location& location, const std::string& path,
                                  const wire::TarEntry& entry) {
  for (int tries = 0; ::mkdirat(location.dir, location.name.c_str(), 0700) != 0; ++tries) {
    if (errno != EEXIST) return fail_with(errno);
    auto there = open_path(location.dir, location.name, O_RDONLY | O_DIRECTORY, 0, resolve());
    if (there) {
      if (!entry.opaque || !rules_.snapshot) break;
      std::uint64_t removed = 0;
      TRY_OK(empty_directory(there->get(), OtherMounts::kLeave, removed));
      break;
    }
    // Another mount is there, and stays what it is.
    if (there.error().sys_errno() == EXDEV) return {};
    if (!rules_.snapshot || tries >= kMaxTries) return fail_with(EEXIST);
    TRY_OK(remove_existing(location));
  }
  if (directories_.size() >= kMaxDirectories) return fail_with(EFBIG, "too many directories");
  directories_.push_back({path, entry});
  return {};
}

Result<> Unpacker::write_file(const Location& location, const wire::TarEntry& entry,
                              wire::TarReader& reader) {
  UniqueFd file;
  for (int tries = 0; !file; ++tries) {
    auto made =
        open_path(location.dir, location.name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0600);
    if (!made && (made.error().sys_errno() != EEXIST || tries >= kMaxTries)) {
      return fail(std::move(made.error()));
    }
    if (made) file = std::move(*made);
    if (!file) TRY_OK(remove_existing(location));
  }
  TRY(const std::uint64_t written, write_content(file.get(), entry, reader));
  unpacked_.bytes += written;
  return apply_attributes(file.get(), entry);
}

// A second name of what the archive had before, or of what is in the directory already.
Result<> Unpacker::link_file(const Location& location, const std::string& path,
                             const wire::TarEntry& entry) {
  TRY(const std::string target, clean_name(entry.link));
  if (target.empty()) return refuse("hard link to a directory");
  if (target == path) return {};
  const std::size_t slash = target.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : target.substr(0, slash);
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  TRY(const UniqueFd way, open_parent(parent, Missing::kFail));
  for (int tries = 0;; ++tries) {
    if (::linkat(way.get(), name.c_str(), location.dir, location.name.c_str(), 0) == 0) return {};
    if (errno != EEXIST || tries >= kMaxTries) return fail_with(errno);
    struct stat one {};
    struct stat other {};
    const bool same =
        ::fstatat(way.get(), name.c_str(), &one, AT_SYMLINK_NOFOLLOW) == 0 &&
        ::fstatat(location.dir, location.name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 &&
        one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    if (same) return {};
    TRY_OK(remove_existing(location));
  }
}

Result<> Unpacker::unpack(const std::string& path, const wire::TarEntry& entry,
                          wire::TarReader& reader) {
  if (entry.removed) {
    if (!rules_.snapshot) return {};
    auto location = find(path, Missing::kFail);
    // Nothing is there that could be removed.
    if (!location &&
        (location.error().sys_errno() == ENOENT || location.error().sys_errno() == ENOTDIR)) {
      return {};
    }
    if (!location) return fail(std::move(location.error()));
    return remove_existing(*location);
  }
  TRY(const Location location, find(path, Missing::kMake));
  switch (entry.type) {
    case wire::TarType::kDirectory:
      return make_directory(location, path, entry);
    case wire::TarType::kFile:
      return write_file(location, entry, reader);
    case wire::TarType::kHardLink:
      return link_file(location, path, entry);
    case wire::TarType::kSymlink:
    case wire::TarType::kFifo: {
      if (rules_.layer && entry.type == wire::TarType::kFifo)
        return refuse("a layer cannot contain a FIFO");
      const auto make = [&] {
        return entry.type == wire::TarType::kFifo
                   ? ::mkfifoat(location.dir, location.name.c_str(), entry.mode & 0777u)
                   : ::symlinkat(entry.link.c_str(), location.dir, location.name.c_str());
      };
      for (int tries = 0; make() != 0; ++tries) {
        if (errno != EEXIST || tries >= kMaxTries) return fail_with(errno);
        TRY_OK(remove_existing(location));
      }
      apply_attributes_by_name(location, entry);
      return {};
    }
    case wire::TarType::kCharDevice:
    case wire::TarType::kBlockDevice:
      return refuse("devices cannot be unpacked");
    case wire::TarType::kOther:
      return {};
  }
  return {};
}

Result<> Unpacker::take(const wire::TarEntry& entry, wire::TarReader& reader) {
  TRY(const std::string path, clean_name(entry.name));
  if (path.empty()) {
    // The top itself: it is as it is.
    if (entry.type == wire::TarType::kDirectory) return {};
    return fail(
        Error(Errc::kInvalidArgument, "the archive contains an entry without a name", EINVAL));
  }
  if (rules_.snapshot) {
    const std::string_view first = std::string_view(path).substr(0, path.find('/'));
    if (first == "proc" || first == "dev" || first == "sys") {
      return refuse(path + " cannot be part of a snapshot");
    }
    if (path == "usr") {
      if (entry.type != wire::TarType::kDirectory || entry.removed) {
        return refuse("usr must be a directory");
      }
      return {};
    }
  }
  auto outcome = unpack(path, entry, reader);
  if (!outcome) {
    const int error = outcome.error().sys_errno();
    // Behind or under another mount, where it would not be visible.
    if (rules_.snapshot && (error == EXDEV || error == EBUSY)) return {};
    return fail(std::move(outcome.error()).context(path));
  }
  ++unpacked_.entries;
  return {};
}

Result<> Unpacker::finish() {
  // From the inside out: what has no right to be searched any more is done last.
  for (auto directory = directories_.rbegin(); directory != directories_.rend(); ++directory) {
    auto location = find(directory->path, Missing::kFail);
    if (!location) continue;  // the archive itself replaced it later
    auto dir = open_path(location->dir, location->name, O_RDONLY | O_DIRECTORY, 0, resolve());
    if (!dir) continue;
    auto outcome = apply_attributes(dir->get(), directory->entry);
    if (!outcome) return fail(std::move(outcome.error()).context(directory->path));
  }
  return {};
}

}  // namespace glovebox::agent
