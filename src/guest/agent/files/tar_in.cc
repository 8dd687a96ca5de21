// Unpacking a tar archive into a directory, as it comes. What was unpacked before something went
// wrong stays.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "guest/agent/files/archive_source.h"
#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/unpacker.h"
#include "model/layer.h"

namespace glovebox::agent {
namespace {

Result<UniqueFd> open_or_make(const std::string& path) {
  auto there = open_listing(AT_FDCWD, path);
  if (there || there.error().sys_errno() != ENOENT) return there;
  TRY(const ResolvedPath resolved, resolve_creating_parents(path, Owner{}));
  if (::mkdirat(resolved.dir.get(), resolved.name.c_str(), kDirMode) != 0 && errno != EEXIST) {
    return fail_with(errno);
  }
  return open_child(resolved.dir.get(), resolved.name);
}

std::optional<std::uint64_t> mount_of(int fd, const char* path) {
  struct statx info {};
  if (::statx(fd, path, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &info) != 0 ||
      (info.stx_mask & STATX_MNT_ID) == 0) {
    return std::nullopt;
  }
  return info.stx_mnt_id;
}

// In what the launcher mounted at a layer's place, however the path to it is spelled; and not in a
// directory that happens to be called so.
bool is_layer(int top) {
  const auto layer = mount_of(AT_FDCWD, kLayerMountPoint);
  return layer && layer != mount_of(AT_FDCWD, "/") && layer == mount_of(top, "");
}

}  // namespace

Result<> tar_in(HelperLink& link) {
  TRY(UniqueFd top, open_or_make(link.request().path));
  if (in_proc(top.get())) return fail_with(EACCES);
  TRY_OK(link.opened());
  const bool layer = is_layer(top.get());
  Unpacker unpacker(std::move(top), UniqueFd(), UnpackRules{.snapshot = false, .layer = layer});
  return unpack_archive(link, unpacker);
}

}  // namespace glovebox::agent
