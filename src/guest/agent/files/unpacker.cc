#include "guest/agent/files/unpacker.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/write_all.h"
#include "guest/agent/files/copy_tree.h"
#include "guest/agent/files/extended_attributes.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/remove_tree.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMostDirectories = 1'000'000;
constexpr std::size_t kUnpackAtOnce = 256 * 1024;
constexpr std::size_t kLongestStep = 2048;  // of a path that is opened in one call
constexpr int kMostTries = 8;               // against somebody who puts things in the way

tl::unexpected<Error> refuse(const std::string& why) {
  return fail(Error(Errc::kPolicy, why, EPERM));
}

timespec time_of(const TarEntry& entry) {
  timespec time{};
  time.tv_sec = entry.mtime_s;
  time.tv_nsec = static_cast<long>(entry.mtime_ns);
  return time;
}

unsigned layer_mode(const TarEntry& entry) {
  const bool can_be_run = entry.type == TarType::kDirectory || (entry.mode & 0100u) != 0;
  return can_be_run ? 0755 : 0644;
}

bool all_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

Result<std::string> clean_name(std::string_view name) {
  std::string clean;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.find('\0') != std::string_view::npos) {
      return fail(Error(Errc::kInvalidArgument, "the archive has a name with \"..\"", EINVAL));
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
    if (size > kLongestStep) size = std::min(path.find('/', kLongestStep), path.size());
    const std::string some(path.substr(0, size));
    path.remove_prefix(std::min(path.size(), size + 1));
    const int from = at ? at.get() : start;
    auto opened = open_path(from, some.empty() ? "." : some, O_RDONLY | O_DIRECTORY, 0, resolve());
    if (!opened && opened.error().sys_errno() == ENOENT && missing == Missing::kMake) {
      opened = make_way(from, some);
    }
    if (!opened) return opened;
    at = std::move(*opened);
  } while (!path.empty());
  return at;
}

Result<UniqueFd> Unpacker::make_way(int start, std::string_view path) {
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

Result<UniqueFd> Unpacker::open_way(std::string_view parent, Missing missing) {
  if (usr_ && (parent == "usr" || parent.starts_with("usr/"))) {
    parent.remove_prefix(std::min<std::size_t>(parent.size(), 4));
    return walk(usr_.get(), parent, missing);
  }
  return walk(top_.get(), parent, missing);
}

Result<Unpacker::Spot> Unpacker::find(const std::string& path, Missing missing) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
  if (!way_fd_ || way_ != parent) {
    // Mostly it is a directory of the one before; "" is not, for what is below may be "usr".
    const bool below = way_fd_ && !way_.empty() && parent.starts_with(way_ + "/");
    auto opened =
        below ? walk(way_fd_.get(), std::string_view(parent).substr(way_.size() + 1), missing)
              : open_way(parent, missing);
    if (!opened) return fail(std::move(opened.error()));
    way_fd_ = std::move(*opened);
    way_ = parent;
  }
  return Spot{way_fd_.get(), slash == std::string::npos ? path : path.substr(slash + 1)};
}

// Whatever has the name goes. In a tree that is not a snapshot's a directory stays.
Result<> Unpacker::make_room(const Spot& spot) {
  if (!rules_.snapshot) {
    if (::unlinkat(spot.dir, spot.name.c_str(), 0) != 0 && errno != ENOENT) {
      return fail_with(errno);
    }
    return {};
  }
  std::uint64_t removed = 0;
  return remove_tree_at(spot.dir, spot.name, OtherMounts::kLeave, removed);
}

Result<> Unpacker::dress(int fd, const TarEntry& entry) {
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

void Unpacker::dress_named(const Spot& spot, const TarEntry& entry) {
  if (rules_.snapshot) {
    (void)!::fchownat(spot.dir, spot.name.c_str(), entry.uid, entry.gid, AT_SYMLINK_NOFOLLOW);
  }
  const timespec times[2] = {time_of(entry), time_of(entry)};
  (void)::utimensat(spot.dir, spot.name.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

Result<> Unpacker::make_directory(const Spot& spot, const std::string& path,
                                  const TarEntry& entry) {
  for (int tries = 0; ::mkdirat(spot.dir, spot.name.c_str(), 0700) != 0; ++tries) {
    if (errno != EEXIST) return fail_with(errno);
    auto there = open_path(spot.dir, spot.name, O_RDONLY | O_DIRECTORY, 0, resolve());
    if (there) {
      if (!entry.opaque || !rules_.snapshot) break;
      std::uint64_t removed = 0;
      TRY_OK(empty_directory(there->get(), OtherMounts::kLeave, removed));
      break;
    }
    // Another mount is there, and stays what it is.
    if (there.error().sys_errno() == EXDEV) return {};
    if (!rules_.snapshot || tries >= kMostTries) return fail_with(EEXIST);
    TRY_OK(make_room(spot));
  }
  if (directories_.size() >= kMostDirectories) return fail_with(EFBIG, "too many directories");
  directories_.push_back({path, entry});
  return {};
}

Result<> Unpacker::write_file(const Spot& spot, const TarEntry& entry, TarReader& reader) {
  UniqueFd file;
  for (int tries = 0; !file; ++tries) {
    auto made = open_path(spot.dir, spot.name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0600);
    if (!made && (made.error().sys_errno() != EEXIST || tries >= kMostTries)) {
      return fail(std::move(made.error()));
    }
    if (made) file = std::move(*made);
    if (!file) TRY_OK(make_room(spot));
  }
  std::string buffer(kUnpackAtOnce, '\0');
  std::size_t have = 0;
  std::uint64_t written = 0;
  const auto put = [&]() -> Result<> {
    const std::string_view piece = std::string_view(buffer).substr(0, have);
    // What is all zeros becomes a hole again.
    if (all_zero(piece)) {
      if (::lseek(file.get(), static_cast<off_t>(have), SEEK_CUR) < 0) return fail_with(errno);
    } else if (auto outcome = write_all(file.get(), piece); !outcome) {
      return fail_with(outcome.error().sys_errno());
    }
    written += have;
    have = 0;
    return {};
  };
  while (written + have < entry.size) {
    TRY(const std::size_t got, reader.read(buffer.data() + have, buffer.size() - have));
    have += got;
    if (have == buffer.size()) TRY_OK(put());
  }
  TRY_OK(put());
  if (::ftruncate(file.get(), static_cast<off_t>(written)) != 0) return fail_with(errno);
  unpacked_.bytes += written;
  return dress(file.get(), entry);
}

// A second name of what the archive had before, or of what is in the directory already.
Result<> Unpacker::link_file(const Spot& spot, const std::string& path, const TarEntry& entry) {
  TRY(const std::string target, clean_name(entry.link));
  if (target.empty()) return refuse("a link to a directory");
  if (target == path) return {};
  const std::size_t slash = target.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : target.substr(0, slash);
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  TRY(const UniqueFd way, open_way(parent, Missing::kFail));
  for (int tries = 0;; ++tries) {
    if (::linkat(way.get(), name.c_str(), spot.dir, spot.name.c_str(), 0) == 0) return {};
    if (errno != EEXIST || tries >= kMostTries) return fail_with(errno);
    struct stat one {};
    struct stat other {};
    const bool same = ::fstatat(way.get(), name.c_str(), &one, AT_SYMLINK_NOFOLLOW) == 0 &&
                      ::fstatat(spot.dir, spot.name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 &&
                      one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    if (same) return {};
    TRY_OK(make_room(spot));
  }
}

Result<> Unpacker::place(const std::string& path, const TarEntry& entry, TarReader& reader) {
  if (entry.removed) {
    if (!rules_.snapshot) return {};
    auto spot = find(path, Missing::kFail);
    // Nothing is there that could be removed.
    if (!spot && (spot.error().sys_errno() == ENOENT || spot.error().sys_errno() == ENOTDIR)) {
      return {};
    }
    if (!spot) return fail(std::move(spot.error()));
    return make_room(*spot);
  }
  TRY(const Spot spot, find(path, Missing::kMake));
  switch (entry.type) {
    case TarType::kDirectory:
      return make_directory(spot, path, entry);
    case TarType::kFile:
      return write_file(spot, entry, reader);
    case TarType::kHardLink:
      return link_file(spot, path, entry);
    case TarType::kSymlink:
    case TarType::kFifo: {
      if (rules_.layer && entry.type == TarType::kFifo) return refuse("a layer has no pipes");
      const auto make = [&] {
        return entry.type == TarType::kFifo
                   ? ::mkfifoat(spot.dir, spot.name.c_str(), entry.mode & 0777u)
                   : ::symlinkat(entry.link.c_str(), spot.dir, spot.name.c_str());
      };
      for (int tries = 0; make() != 0; ++tries) {
        if (errno != EEXIST || tries >= kMostTries) return fail_with(errno);
        TRY_OK(make_room(spot));
      }
      dress_named(spot, entry);
      return {};
    }
    case TarType::kCharDevice:
    case TarType::kBlockDevice:
      return refuse("devices are not unpacked");
    case TarType::kOther:
      return {};
  }
  return {};
}

Result<> Unpacker::take(const TarEntry& entry, TarReader& reader) {
  TRY(const std::string path, clean_name(entry.name));
  if (path.empty()) {
    // The top itself: it is as it is.
    if (entry.type == TarType::kDirectory) return {};
    return fail(Error(Errc::kInvalidArgument, "the archive has an entry without a name", EINVAL));
  }
  if (rules_.snapshot) {
    const std::string_view first = std::string_view(path).substr(0, path.find('/'));
    if (first == "proc" || first == "dev" || first == "sys") {
      return refuse(path + " is not a snapshot's");
    }
    if (path == "usr") {
      if (entry.type != TarType::kDirectory || entry.removed) {
        return refuse("usr is always a directory");
      }
      return {};
    }
  }
  auto outcome = place(path, entry, reader);
  if (!outcome) {
    const int error = outcome.error().sys_errno();
    // Behind or under another mount: nobody would see it.
    if (rules_.snapshot && (error == EXDEV || error == EBUSY)) return {};
    return fail(std::move(outcome.error()).context(path));
  }
  ++unpacked_.entries;
  return {};
}

Result<> Unpacker::finish() {
  // From the inside out: what has no right to be searched any more is done last.
  for (auto directory = directories_.rbegin(); directory != directories_.rend(); ++directory) {
    auto spot = find(directory->path, Missing::kFail);
    if (!spot) continue;  // the archive itself replaced it later
    auto dir = open_path(spot->dir, spot->name, O_RDONLY | O_DIRECTORY, 0, resolve());
    if (!dir) continue;
    auto outcome = dress(dir->get(), directory->entry);
    if (!outcome) return fail(std::move(outcome.error()).context(directory->path));
  }
  return {};
}

}  // namespace glovebox::agent
