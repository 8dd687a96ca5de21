#include "guest/agent/files/entry.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {
namespace {

wire::FileType file_type(std::uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return wire::FileType::kDirectory;
    case S_IFLNK:
      return wire::FileType::kSymlink;
    case S_IFIFO:
      return wire::FileType::kFifo;
    case S_IFSOCK:
      return wire::FileType::kSocket;
    case S_IFCHR:
      return wire::FileType::kCharDevice;
    case S_IFBLK:
      return wire::FileType::kBlockDevice;
    default:
      return wire::FileType::kFile;
  }
}

// The guest may have set any time.
std::int64_t nanoseconds(const struct statx_timestamp& time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kMaxSeconds = INT64_MAX / kSecond - 1;
  return std::clamp<std::int64_t>(time.tv_sec, -kMaxSeconds, kMaxSeconds) * kSecond + time.tv_nsec;
}

std::optional<wire::LinkEnd> end_of_link(int dir, const std::string& name) {
  const auto end = open_path(dir, name, O_PATH);
  struct statx info {};
  if (!end ||
      ::statx(end->get(), "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &info) != 0) {
    return std::nullopt;
  }
  return wire::LinkEnd{path_of(end->get()), file_type(info.stx_mode), info.stx_mode & 07777u};
}

// Usually there is none, and this check is cheaper than opening each file of a directory. The call
// only takes paths, so it is made from within the directory.
bool may_have_metadata(int dir, const std::string& name) {
  if (dir != AT_FDCWD && ::fchdir(dir) != 0) return true;
  const bool any = ::llistxattr(name.c_str(), nullptr, 0) > 0;
  if (dir != AT_FDCWD) (void)!::chdir("/");
  return any;
}

}  // namespace

wire::Metadata read_metadata(int fd) {
  wire::Metadata metadata;
  // Usually there is none, and no buffer is needed.
  if (::flistxattr(fd, nullptr, 0) <= 0) return metadata;
  std::string names(XATTR_LIST_MAX, '\0');
  const ssize_t size = ::flistxattr(fd, names.data(), names.size());
  if (size <= 0) return metadata;
  std::string_view left(names.data(), static_cast<std::size_t>(size));
  while (!left.empty()) {
    const std::string name(left.substr(0, left.find('\0')));
    left.remove_prefix(std::min(left.size(), name.size() + 1));
    if (!name.starts_with(wire::kMetadataNamespace)) continue;
    std::string value(wire::kMaxMetadataBytes, '\0');
    const ssize_t got = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
    if (got < 0) continue;
    value.resize(static_cast<std::size_t>(got));
    metadata.emplace_back(name.substr(wire::kMetadataNamespace.size()), std::move(value));
    if (!wire::is_valid_metadata(metadata)) metadata.pop_back();
  }
  std::sort(metadata.begin(), metadata.end());
  return metadata;
}

Result<> write_metadata(int fd, const wire::Metadata& metadata) {
  for (const auto& [key, value] : metadata) {
    const std::string name = std::string(wire::kMetadataNamespace) + key;
    if (::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) != 0) {
      return fail_with(errno, "store the metadata");
    }
  }
  return {};
}

void add_details(int dir, const std::string& name, wire::FileEntry& entry) {
  if (entry.type == wire::FileType::kSymlink) {
    entry.end = end_of_link(dir, name);
    return;
  }
  if (entry.type != wire::FileType::kFile && entry.type != wire::FileType::kDirectory) return;
  if (!may_have_metadata(dir, name)) return;
  const auto file = open_path(dir, name, O_RDONLY | O_NOFOLLOW);
  if (file) entry.metadata = read_metadata(file->get());
}

Result<wire::FileEntry> stat_entry(int dir, const std::string& name, const UserNames& names) {
  struct statx info {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name.empty() ? AT_EMPTY_PATH : 0);
  if (::statx(dir, name.c_str(), flags, STATX_BASIC_STATS, &info) != 0) {
    return fail_with(errno);
  }
  wire::FileEntry entry;
  entry.type = file_type(info.stx_mode);
  entry.mode = info.stx_mode & 07777u;
  entry.uid = info.stx_uid;
  entry.gid = info.stx_gid;
  entry.user = names.user(info.stx_uid);
  entry.group = names.group(info.stx_gid);
  entry.size = info.stx_size;
  entry.blocks = info.stx_blocks;
  entry.modified_ns = nanoseconds(info.stx_mtime);
  if (entry.type == wire::FileType::kSymlink) {
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(dir, name.c_str(), target, sizeof target);
    if (size > 0) entry.target.assign(target, static_cast<std::size_t>(size));
  }
  return entry;
}

}  // namespace glovebox::agent
