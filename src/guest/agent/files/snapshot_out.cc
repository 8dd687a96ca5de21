// What a session's sandbox has that its template has not, as a tar archive: the writable layers of
// its overlays, walked beside what the guest sees. A whiteout becomes a record that says so. Of
// directories it is told when nothing of the template's shows through them: the overlay's own mark
// of that cannot be read in here. What lies under other mounts is left out.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "guest/agent/files/archive_writer.h"
#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/snapshot_layers.h"
#include "guest/agent/files/tree_walk.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kAllNames = SIZE_MAX;

bool is_whiteout(const struct stat& info) { return S_ISCHR(info.st_mode) && info.st_rdev == 0; }

// Both walks at once: the writable layer, and what the guest sees of it.
class LayerWalk {
 public:
  LayerWalk(UniqueFd layer, UniqueFd seen)
      : walk_(std::move(layer)), first_seen_(std::move(seen)) {}

  TreeWalk& layer() { return walk_; }
  int seen() const { return seen_.depth() == 0 ? first_seen_.get() : seen_.top(); }

  // False: what is seen at that name is not this directory, but another mount or nothing.
  Result<bool> enter(const std::string& name) {
    auto seen = open_path(this->seen(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
                          RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
    if (!seen) {
      const int error = seen.error().sys_errno();
      if (error == EXDEV || error == ENOENT || error == ENOTDIR || error == ELOOP) return false;
      return fail(std::move(seen.error()));
    }
    auto layer = open_child(walk_.dir(), name);
    if (!layer && layer.error().sys_errno() == ENOENT) return false;
    if (!layer) return fail(std::move(layer.error()));
    if (seen_.depth() == 0) TRY_OK(seen_.push(std::move(first_seen_)));
    TRY_OK(seen_.push(std::move(*seen)));
    TRY_OK(walk_.enter(name, std::move(*layer)));
    return true;
  }
  Result<bool> leave() {
    TRY(const bool more, walk_.leave());
    if (more) TRY_OK(seen_.pop());
    return more;
  }

 private:
  TreeWalk walk_;
  UniqueFd first_seen_;
  DirStack seen_;
};

// Whether everything that is seen in the directory the walk is in, is of the writable layer.
Result<bool> only_of_layer(LayerWalk& walk) {
  TRY(const UniqueFd layer, open_listing(walk.layer().dir(), "."));
  TRY(const UniqueFd seen, open_listing(walk.seen(), "."));
  TRY(const std::vector<DirName> own, read_names(layer.get(), kAllNames));
  TRY(const std::vector<DirName> all, read_names(seen.get(), kAllNames));
  // Both are sorted.
  const auto by_name = [](const DirName& a, const DirName& b) { return a.name < b.name; };
  return std::includes(own.begin(), own.end(), all.begin(), all.end(), by_name);
}

bool is_left_out(const std::string& path, const SnapshotLayer& layer) {
  // Mount points of the sandbox's own; and what is under /usr in the layer of the root.
  return layer.prefix.empty() &&
         (path == "proc" || path == "dev" || path == "sys" || path == "usr");
}

using Inodes = std::set<ino_t>;

// The directories of the layer through which nothing of the template's shows, at any depth.
Result<Inodes> find_opaque(const SnapshotLayer& layer) {
  TRY(UniqueFd top, open_listing(layer.layer.get(), "."));
  TRY(UniqueFd seen_top, open_listing(layer.seen.get(), "."));
  LayerWalk walk(std::move(top), std::move(seen_top));
  Inodes opaque;
  std::vector<bool> whole = {false};  // the top never is
  for (;;) {
    TRY(const DirName* name, walk.layer().next());
    if (name != nullptr) {
      if (name->type != DT_DIR && name->type != DT_UNKNOWN) continue;
      if (is_left_out(walk.layer().path() + name->name, layer)) continue;
      TRY(const bool entered, walk.enter(name->name));
      if (!entered) continue;
      TRY(const bool own, only_of_layer(walk));
      whole.push_back(own);
      continue;
    }
    struct stat info {};
    if (::fstat(walk.layer().dir(), &info) != 0) return fail_with(errno);
    const bool was_whole = whole.back();
    if (was_whole) opaque.insert(info.st_ino);
    TRY(const bool more, walk.leave());
    if (!more) return opaque;
    whole.pop_back();
    if (!was_whole) whole.back() = false;
  }
}

Result<> archive_directory(LayerWalk& walk, const std::string& path, const Inodes& opaque,
                           const std::string& name, ArchiveWriter& archive) {
  TRY(const bool entered, walk.enter(name));
  if (!entered) return {};
  struct stat info {};
  if (::fstat(walk.layer().dir(), &info) != 0) return fail_with(errno);
  return archive.add_directory(walk.layer().dir(), path, opaque.contains(info.st_ino));
}

Result<> archive_layer(const SnapshotLayer& layer, ArchiveWriter& archive) {
  TRY(const Inodes opaque, find_opaque(layer));
  TRY(UniqueFd top, open_listing(layer.layer.get(), "."));
  TRY(UniqueFd seen_top, open_listing(layer.seen.get(), "."));
  LayerWalk walk(std::move(top), std::move(seen_top));
  for (;;) {
    TRY(const DirName* name, walk.layer().next());
    if (name == nullptr) {
      TRY(const bool more, walk.leave());
      if (!more) return {};
      continue;
    }
    const std::string below = walk.layer().path() + name->name;
    const std::string path = layer.prefix + below;
    if (is_left_out(below, layer)) continue;
    struct stat info {};
    const int dir = walk.layer().dir();
    if (::fstatat(dir, name->name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    Result<> outcome;
    if (S_ISDIR(info.st_mode)) {
      outcome = archive_directory(walk, path, opaque, name->name, archive);
    } else if (is_whiteout(info)) {
      outcome = archive.add_removed(path);
    } else {
      outcome = archive.add(dir, name->name, path);
    }
    if (!outcome) return outcome;
  }
}

}  // namespace

Result<> snapshot_out(HelperLink& link) {
  TRY(const std::vector<SnapshotLayer> layers, open_snapshot_layers(link.upper()));
  TRY_OK(link.opened());
  PipeWriter out(link.data(), link.request().most);
  ArchiveWriter archive(out, Attributes::kKeep);
  Result<> outcome;
  for (const SnapshotLayer& layer : layers) {
    if (outcome) outcome = archive_layer(layer, archive);
  }
  if (outcome) outcome = archive.finish();
  link.done.bytes = out.written();
  link.done.entries = archive.entries();
  return outcome;
}

}  // namespace glovebox::agent
