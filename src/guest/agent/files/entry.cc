#include "guest/agent/files/entry.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace glovebox::agent {
namespace {

wire::FileType type_of(std::uint32_t mode) {
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
  constexpr std::int64_t kMost = INT64_MAX / kSecond - 1;
  return std::clamp<std::int64_t>(time.tv_sec, -kMost, kMost) * kSecond + time.tv_nsec;
}

}  // namespace

Result<wire::FileEntry> look_at(int dir, const std::string& name, const UserNames& names) {
  struct statx info {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name.empty() ? AT_EMPTY_PATH : 0);
  if (::statx(dir, name.c_str(), flags, STATX_BASIC_STATS, &info) != 0) {
    return fail_with(errno);
  }
  wire::FileEntry entry;
  entry.type = type_of(info.stx_mode);
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
