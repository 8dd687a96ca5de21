// Resolves the paths of requests. Symlinks are followed as a guest's program would follow them,
// except for magic links of /proc, where "self" is our own process. Once a path is resolved, the
// descriptor is used; no path is looked up twice.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

// The owner of what is created; kKeep: the process's own user.
struct Owner {
  static constexpr std::uint32_t kKeep = UINT32_MAX;
  std::uint32_t uid = kKeep;
  std::uint32_t gid = kKeep;
  bool given() const { return uid != kKeep || gid != kKeep; }
};

// A name in a directory. The name is never ".", ".." or empty.
struct ResolvedPath {
  UniqueFd dir;
  std::string name;
};

inline constexpr unsigned kDirMode = 0755;

// openat2 without magic links. Never blocks on a FIFO, a terminal or a device.
Result<UniqueFd> open_path(int dir, const std::string& path, int flags, unsigned mode = 0,
                           std::uint64_t resolve = 0);
// The same for a directory that is to be listed.
Result<UniqueFd> open_listing(int dir, const std::string& path, std::uint64_t resolve = 0);
// A subdirectory of `dir`, never through a symlink; `name` is one component.
Result<UniqueFd> open_child(int dir, const std::string& name);
enum class ProcFiles : bool { kRefuse, kAllow };
// A regular file for reading: no FIFO, no device. In /proc only if allowed, and then none that
// belongs to this process: "self" there is our own program.
Result<UniqueFd> open_content(int dir, const std::string& path, bool follow, struct stat& info,
                              ProcFiles proc = ProcFiles::kRefuse);

// Whether a file is in /proc or /sys. True if that cannot be determined.
bool in_proc(int fd);
// The path of what is open here, as this process sees it; empty if that is unknown.
std::string path_of(int fd);

// The directory entry that a path names, without following a final symlink. An error if it names no
// entry of a directory, like "/" or "a/..".
Result<ResolvedPath> resolve_path(const std::string& path);
// The same, creating missing parent directories with this owner.
Result<ResolvedPath> resolve_creating_parents(const std::string& path, const Owner& owner);
// Follows symlinks to the entry that a program would write to.
Result<ResolvedPath> follow_links(ResolvedPath resolved);

// An unpredictable name; watches do not report such files.
std::string temporary_name();
bool is_temporary_name(std::string_view name);

// Changes a mode. On a nosuid mount the setuid bits are dropped: it is a directory of the host,
// where they would have an effect.
Result<> set_mode(int fd, unsigned mode);

// Fails with `err`; `where` says what failed if the request does not.
tl::unexpected<Error> fail_with(int err, const std::string& where = {});

}  // namespace glovebox::agent
