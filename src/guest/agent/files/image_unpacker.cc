#include "guest/agent/files/image_unpacker.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "guest/agent/files/extended_attributes.h"
#include "guest/agent/files/remove_tree.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/tar_content.h"
#include "guest/agent/files/unpacker.h"

namespace glovebox::agent {
namespace {

using wire::TarEntry;
using wire::TarReader;
using wire::TarType;

constexpr std::uint64_t kBlock = 4096;  // of common file systems
constexpr std::size_t kShortLink = 59;  // has no block of its own
constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kAufs = ".wh..wh.";
// The tree is the root: what is absolute or goes up stays inside, and so does every symlink.
constexpr std::uint64_t kInside = RESOLVE_IN_ROOT | RESOLVE_NO_XDEV;
constexpr std::uint64_t kInsideNoLinks = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
// A sandbox attaches mounts here.
constexpr const char* kMountPoints[] = {"proc", "dev", "sys", "tmp"};

tl::unexpected<Error> refuse_entry(std::string why) {
  return fail(Error(Errc::kInvalidArgument, std::move(why), EINVAL));
}

bool is_directory(int dir, const std::string& name) {
  struct stat info {};
  return ::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

timespec entry_time(const TarEntry& entry) {
  timespec time{};
  time.tv_sec = entry.mtime_s;
  time.tv_nsec = static_cast<long>(entry.mtime_ns);
  return time;
}

bool has_capability(const TarEntry& entry) {
  return std::any_of(entry.xattrs.begin(), entry.xattrs.end(),
                     [](const auto& one) { return one.first == "security.capability"; });
}

Result<std::vector<std::string>> names_in(int dir) {
  UniqueFd copy(::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const listing = copy ? ::fdopendir(copy.get()) : nullptr;
  if (listing == nullptr) return fail_with(errno);
  (void)copy.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(listing);
  return names;
}

}  // namespace

ImageUnpacker::Split ImageUnpacker::split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

Result<> ImageUnpacker::count_entry() {
  if (++unpacked_.entries <= kMaxEntries) return {};
  return fail(Error(Errc::kResourceExhausted,
                    "the layer has more than " + std::to_string(kMaxEntries) + " entries", EFBIG));
}

Result<> ImageUnpacker::count_bytes(std::uint64_t bytes) {
  unpacked_.bytes += (bytes + kBlock - 1) / kBlock * kBlock;
  if (unpacked_.bytes <= most_) return {};
  return fail(Error(Errc::kResourceExhausted, "the image exceeds the size limit", EFBIG));
}

Result<> ImageUnpacker::take(const TarEntry& entry, TarReader& reader) {
  TRY_OK(count_entry());
  TRY(const std::string path, clean_name(entry.name));
  if (path.size() > kMaxPath || entry.link.size() > kMaxPath) {
    return refuse_entry("the layer contains a name of more than " + std::to_string(kMaxPath) +
                        " bytes");
  }
  if (path.empty()) {
    // The top itself: it is as it is.
    if (entry.type == TarType::kDirectory) return {};
    return refuse_entry("the layer contains an entry without a name");
  }
  if (entry.type == TarType::kCharDevice || entry.type == TarType::kBlockDevice) {
    ++unpacked_.devices;
    return {};
  }
  if (entry.type == TarType::kOther) return {};
  const Split at = split(path);
  auto outcome = std::string_view(at.name).starts_with(kWhiteout) ? whiteout(at)
                                                                  : place(at, path, entry, reader);
  if (!outcome) return fail(std::move(outcome.error()).context(path));
  return {};
}

Result<> ImageUnpacker::remember(const std::string& path) {
  std::string_view some = path;
  while (!some.empty() && own_.emplace(some).second) {
    const std::size_t slash = some.rfind('/');
    some = slash == std::string_view::npos ? std::string_view() : some.substr(0, slash);
  }
  // Directories above entries count, too: a deep path has two thousand.
  if (own_.size() > 2 * kMaxEntries) {
    return fail(Error(Errc::kResourceExhausted, "the layer has too many directories", EFBIG));
  }
  return {};
}

Result<UniqueFd> ImageUnpacker::open_directory(const std::string& path, Missing missing) {
  const std::string from_top = path.empty() ? "." : path;
  auto opened = open_path(top_.get(), from_top, O_RDONLY | O_DIRECTORY, 0, kInside);
  if (opened || opened.error().sys_errno() != ENOENT || missing == Missing::kFail) return opened;
  UniqueFd above;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string some = path.substr(0, end);
    auto next = open_path(top_.get(), some, O_RDONLY | O_DIRECTORY, 0, kInside);
    if (!next && next.error().sys_errno() == ENOENT) {
      const std::string name = split(some).name;
      // A link that leads nowhere has the name: then it still cannot be opened below.
      if (::mkdirat(above ? above.get() : top_.get(), name.c_str(), kDirMode) == 0) {
        // An archive need not name the directories above a file: one header has two thousand.
        TRY_OK(count_entry());
        TRY_OK(count_directory());
      } else if (errno != EEXIST) {
        return fail_with(errno);
      }
      next = open_path(top_.get(), some, O_RDONLY | O_DIRECTORY, 0, kInside);
    }
    if (!next) return next;
    above = std::move(*next);
  }
  return above;
}

Result<int> ImageUnpacker::parent_of(const Split& at, Missing missing) {
  if (!parent_fd_ || parent_path_ != at.parent) {
    TRY(parent_fd_, open_directory(at.parent, missing));
    parent_path_ = at.parent;
  }
  return parent_fd_.get();
}

Result<> ImageUnpacker::remove(int dir, const std::string& name) {
  std::uint64_t removed = 0;
  TRY_OK(remove_tree_at(dir, name, OtherMounts::kLeave, removed));
  // `dir` itself may have been in it, by way of a link.
  forget_parent();
  return {};
}

// ---- what a layer removes of those below it --------------------------------------------------

Result<> ImageUnpacker::whiteout(const Split& at) {
  const std::string_view name = at.name;
  const bool is_opaque = name == kOpaque;
  if (!is_opaque && name.starts_with(kAufs)) return {};  // of an old filesystem, for itself
  auto parent = open_directory(at.parent, Missing::kFail);
  if (!parent) {
    const int error = parent.error().sys_errno();
    // Nothing is there that could be removed.
    if (error == ENOENT || error == ENOTDIR) return {};
    return fail(std::move(parent.error()));
  }
  forget_parent();
  if (is_opaque) return empty_lower(std::move(*parent), at.parent);
  const std::string target(name.substr(kWhiteout.size()));
  if (target.empty() || target == "." || target == "..") return refuse_entry("invalid whiteout");
  const std::string path = at.parent.empty() ? target : at.parent + "/" + target;
  return remove_lower(parent->get(), path);
}

// Removes what layers below have put there; what this one has put there stays.
Result<> ImageUnpacker::remove_lower(int dir, const std::string& path) {
  const std::string name = split(path).name;
  if (!own_.contains(path)) {
    std::uint64_t removed = 0;
    return remove_tree_at(dir, name, OtherMounts::kLeave, removed);
  }
  if (!is_directory(dir, name)) return {};
  TRY(UniqueFd below, open_path(dir, name, O_RDONLY | O_DIRECTORY, 0, kInsideNoLinks));
  return empty_lower(std::move(below), path);
}

Result<> ImageUnpacker::empty_lower(UniqueFd dir, const std::string& path) {
  TRY(const std::vector<std::string> names, names_in(dir.get()));
  for (const std::string& name : names) {
    TRY_OK(remove_lower(dir.get(), path.empty() ? name : path + "/" + name));
  }
  return {};
}

// ---- what it adds ----------------------------------------------------------------------------

Result<> ImageUnpacker::place(const Split& at, const std::string& path, const TarEntry& entry,
                              TarReader& reader) {
  TRY(const int dir, parent_of(at, Missing::kMake));
  TRY_OK(remember(path));
  switch (entry.type) {
    case TarType::kDirectory:
      return make_directory(dir, at, path, entry);
    case TarType::kFile:
      return write_file(dir, at, entry, reader);
    case TarType::kHardLink:
      return link_file(dir, at, path, entry);
    default:
      return make_special(dir, at, entry);
  }
}

Result<> ImageUnpacker::make_directory(int dir, const Split& at, const std::string& path,
                                       const TarEntry& entry) {
  if (::mkdirat(dir, at.name.c_str(), 0700) == 0) {
    TRY_OK(count_directory());
  } else {
    if (errno != EEXIST) return fail_with(errno);
    if (!is_directory(dir, at.name)) {
      const UniqueFd kept(::fcntl(dir, F_DUPFD_CLOEXEC, 3));
      TRY_OK(remove(dir, at.name));
      if (::mkdirat(kept.get(), at.name.c_str(), 0700) != 0) return fail_with(errno);
      TRY_OK(count_directory());
    }
  }
  directories_.push_back({path, entry});
  directories_.back().entry.name.clear();
  return {};
}

Result<> ImageUnpacker::write_file(int dir, const Split& at, const TarEntry& entry,
                                   TarReader& reader) {
  constexpr int kNew = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW;
  auto file = open_path(dir, at.name, kNew, 0600);
  if (!file && file.error().sys_errno() == EEXIST) {
    const UniqueFd kept(::fcntl(dir, F_DUPFD_CLOEXEC, 3));
    TRY_OK(remove(dir, at.name));
    file = open_path(kept.get(), at.name, kNew, 0600);
  }
  if (!file) return fail(std::move(file.error()));
  TRY(const std::uint64_t written, write_content(file->get(), entry, reader));
  TRY_OK(count_bytes(written));
  return apply_attributes(file->get(), entry);
}

// A second name of what is in the tree, of this layer or of one below.
Result<> ImageUnpacker::link_file(int dir, const Split& at, const std::string& path,
                                  const TarEntry& entry) {
  TRY(const std::string target, clean_name(entry.link));
  if (target.empty()) return refuse_entry("hard link to a directory");
  if (target == path) return {};
  const Split from = split(target);
  TRY(const UniqueFd way, open_directory(from.parent, Missing::kFail));
  if (is_directory(way.get(), from.name)) return refuse_entry("hard link to a directory");
  const UniqueFd kept(::fcntl(dir, F_DUPFD_CLOEXEC, 3));
  if (::linkat(way.get(), from.name.c_str(), kept.get(), at.name.c_str(), 0) == 0) return {};
  if (errno != EEXIST) return fail_with(errno, "hard link to " + target);
  struct stat one {};
  struct stat other {};
  const bool is_same = ::fstatat(way.get(), from.name.c_str(), &one, AT_SYMLINK_NOFOLLOW) == 0 &&
                       ::fstatat(kept.get(), at.name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 &&
                       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  if (is_same) return {};
  TRY_OK(remove(kept.get(), at.name));
  if (::linkat(way.get(), from.name.c_str(), kept.get(), at.name.c_str(), 0) != 0) {
    return fail_with(errno, "hard link to " + target);
  }
  return {};
}

// A symlink, or a FIFO.
Result<> ImageUnpacker::make_special(int dir, const Split& at, const TarEntry& entry) {
  const UniqueFd kept(::fcntl(dir, F_DUPFD_CLOEXEC, 3));
  const bool is_fifo = entry.type == TarType::kFifo;
  const auto make = [&] {
    return is_fifo ? ::mkfifoat(kept.get(), at.name.c_str(), entry.mode & 0777u)
                   : ::symlinkat(entry.link.c_str(), kept.get(), at.name.c_str());
  };
  if (make() != 0) {
    if (errno != EEXIST) return fail_with(errno);
    TRY_OK(remove(kept.get(), at.name));
    if (make() != 0) return fail_with(errno);
  }
  if (!is_fifo && entry.link.size() > kShortLink) TRY_OK(count_bytes(entry.link.size()));
  if (entry.uid > kMaxId || entry.gid > kMaxId)
    return refuse_entry("its owner is not within 0 to 65535");
  if (::fchownat(kept.get(), at.name.c_str(), entry.uid, entry.gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail_with(errno);
  }
  const timespec times[2] = {entry_time(entry), entry_time(entry)};
  (void)::utimensat(kept.get(), at.name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return {};
}

Result<> ImageUnpacker::apply_attributes(int fd, const TarEntry& entry) {
  if (entry.uid > kMaxId || entry.gid > kMaxId)
    return refuse_entry("its owner is not within 0 to 65535");
  if (::fchown(fd, entry.uid, entry.gid) != 0) return fail_with(errno);
  if (!entry.xattrs.empty()) TRY_OK(count_bytes(1));
  TRY_OK(write_attributes(fd, entry.xattrs));
  if (has_capability(entry) && ::fgetxattr(fd, "security.capability", nullptr, 0) < 0) {
    ++unpacked_.capabilities;
  }
  // The layer is mounted nosuid here; whether a setuid bit has an effect is for the sandboxes that
  // use it.
  if (::fchmod(fd, entry.mode & 07777u) != 0) return fail_with(errno);
  const timespec times[2] = {entry_time(entry), entry_time(entry)};
  (void)::futimens(fd, times);  // a time that this file system cannot have
  return {};
}

Result<> ImageUnpacker::finish() {
  // From the inside out: what has no right to be searched any more is done last.
  for (auto directory = directories_.rbegin(); directory != directories_.rend(); ++directory) {
    const Split at = split(directory->path);
    auto parent = open_directory(at.parent, Missing::kFail);
    if (!parent) continue;  // the layer itself replaced it later
    auto dir = open_path(parent->get(), at.name, O_RDONLY | O_DIRECTORY, 0, kInsideNoLinks);
    if (!dir) continue;
    auto outcome = apply_attributes(dir->get(), directory->entry);
    if (!outcome) return fail(std::move(outcome.error()).context(directory->path));
  }
  return make_mount_points();
}

// Directories, and no links: the launcher and the sandbox's first process mount upon them.
Result<> ImageUnpacker::make_mount_points() {
  for (const char* name : kMountPoints) {
    if (is_directory(top_.get(), name)) continue;
    TRY_OK(remove(top_.get(), name));
    if (::mkdirat(top_.get(), name, kDirMode) != 0) return fail_with(errno, name);
  }
  if (::mkdirat(top_.get(), "usr", kDirMode) != 0 && errno != EEXIST) {
    return fail_with(errno, "usr");
  }
  // Where root's programs start; an image of one program need not have it.
  if (::mkdirat(top_.get(), "root", 0700) != 0 && errno != EEXIST) return fail_with(errno, "root");
  if (!is_directory(top_.get(), "usr")) return refuse_entry("/usr of the image is not a directory");
  return {};
}

}  // namespace glovebox::agent
