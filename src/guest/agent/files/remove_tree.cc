#include "guest/agent/files/remove_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/tree_walk.h"

namespace glovebox::agent {
namespace {

constexpr int kMaxRounds = 16;  // for one directory that is being filled meanwhile

Result<UniqueFd> open_to_empty(int dir, const std::string& name, OtherMounts mounts) {
  const std::uint64_t resolve =
      RESOLVE_NO_SYMLINKS | (mounts == OtherMounts::kLeave ? RESOLVE_NO_XDEV : 0u);
  return open_path(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, resolve);
}

enum class Gone : std::uint8_t { kYes, kIsDirectory };

Result<Gone> remove_entry(int dir, const std::string& name, std::uint64_t& removed) {
  if (::unlinkat(dir, name.c_str(), 0) == 0) {
    ++removed;
    return Gone::kYes;
  }
  if (errno == ENOENT) return Gone::kYes;
  if (errno != EISDIR && errno != EPERM) return fail_with(errno);
  // EPERM is what POSIX has for a directory, and also a refusal.
  const int refusal = errno;
  if (::unlinkat(dir, name.c_str(), AT_REMOVEDIR) == 0) {
    ++removed;
    return Gone::kYes;
  }
  if (errno == ENOENT) return Gone::kYes;
  if (errno == ENOTEMPTY || errno == EEXIST) return Gone::kIsDirectory;
  return fail_with(errno == ENOTDIR ? refusal : errno);
}

class Remover {
 public:
  Remover(UniqueFd top, OtherMounts mounts, std::uint64_t& removed)
      : walk_(std::move(top)), mounts_(mounts), removed_(removed) {}

  Result<> run() {
    for (;;) {
      TRY(const DirName* name, walk_.next());
      if (name != nullptr) {
        TRY_OK(take(name->name));
      } else if (inside_.empty()) {
        return {};
      } else {
        TRY_OK(go_up());
      }
    }
  }

 private:
  struct Inside {
    std::string name;
    int rounds = 0;
  };

  Result<> take(const std::string& name) {
    auto gone = remove_entry(walk_.dir(), name, removed_);
    if (!gone) {
      if (mounts_ == OtherMounts::kLeave && gone.error().sys_errno() == EBUSY) return {};
      return fail(std::move(gone.error()).context(walk_.path() + name));
    }
    if (*gone == Gone::kYes) return {};
    return go_into({name, 0});
  }

  Result<> go_into(Inside inside) {
    auto dir = open_to_empty(walk_.dir(), inside.name, mounts_);
    if (dir) {
      TRY_OK(walk_.enter(inside.name, std::move(*dir)));
      inside_.push_back(std::move(inside));
      return {};
    }
    // Another mount, or replaced by something else meanwhile: removing its parent directory will
    // find that out.
    const int error = dir.error().sys_errno();
    if (error == EXDEV || error == ENOENT || error == ENOTDIR || error == ELOOP) return {};
    return fail(std::move(dir.error()).context(walk_.path() + inside.name));
  }

  // The directory was listed to its end: removes it.
  Result<> go_up() {
    TRY_OK(walk_.leave());
    Inside left = std::move(inside_.back());
    inside_.pop_back();
    if (::unlinkat(walk_.dir(), left.name.c_str(), AT_REMOVEDIR) == 0) {
      ++removed_;
      return {};
    }
    if (errno == ENOENT || errno == ENOTDIR) return {};
    // More was put into it, or the listing of what was removed meanwhile left some out.
    const bool full = errno == ENOTEMPTY || errno == EEXIST;
    if (full && ++left.rounds < kMaxRounds) return go_into(std::move(left));
    if (mounts_ == OtherMounts::kLeave && (full || errno == EBUSY)) return {};
    return fail_with(errno, walk_.path() + left.name);
  }

  TreeWalk walk_;
  OtherMounts mounts_;
  std::uint64_t& removed_;
  std::vector<Inside> inside_;  // the directories the walk is in
};

}  // namespace

Result<> empty_directory(int dir, OtherMounts mounts, std::uint64_t& removed) {
  for (std::uint64_t before = UINT64_MAX; before != removed;) {
    before = removed;
    TRY(UniqueFd top, open_listing(dir, "."));
    TRY_OK(Remover(std::move(top), mounts, removed).run());
  }
  return {};
}

Result<> remove_tree_at(int dir, const std::string& name, OtherMounts mounts,
                        std::uint64_t& removed) {
  for (int round = 0; round < kMaxRounds; ++round) {
    TRY(const Gone gone, remove_entry(dir, name, removed));
    if (gone == Gone::kYes) return {};
    auto top = open_to_empty(dir, name, mounts);
    if (!top) {
      const int error = top.error().sys_errno();
      if (error == ENOENT || error == ENOTDIR || error == ELOOP) continue;
      return fail(std::move(top.error()));
    }
    TRY_OK(Remover(std::move(*top), mounts, removed).run());
  }
  return fail_with(ENOTEMPTY);
}

}  // namespace glovebox::agent
