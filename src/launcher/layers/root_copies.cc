#include "launcher/layers/root_copies.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <string_view>

#include "base/unique_fd.h"

namespace glovebox::launcher {
namespace {

// The host's own trees are not as deep; a descriptor is open for each level.
constexpr int kMostLevels = 64;

struct CloseDirectory {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

// Which files are copied; directories always are.
class Choice {
 public:
  virtual ~Choice() = default;
  // `path`: of the file's directory, below the tree, without a slash at its beginning.
  virtual bool looks_at_files_of(std::string_view path) const = 0;
  virtual bool takes(std::string_view path, const struct stat& file) const = 0;
};

// Package managers read these files of the host's packages, but do not change them.
class OfHostLayer final : public Choice {
 public:
  bool looks_at_files_of(std::string_view path) const override {
    return path != "var/lib/dpkg/info";
  }
  bool takes(std::string_view, const struct stat& file) const override {
    return S_ISREG(file.st_mode) || S_ISLNK(file.st_mode);
  }
};

// sudo refuses to load what root does not own.
class OfUsr final : public Choice {
 public:
  bool looks_at_files_of(std::string_view path) const override {
    return is_sudos(path) || path == "bin" || path == "sbin" || path == "local/bin" ||
           path == "local/sbin";
  }
  bool takes(std::string_view path, const struct stat& file) const override {
    if (is_sudos(path)) return S_ISREG(file.st_mode) || S_ISLNK(file.st_mode);
    return S_ISREG(file.st_mode) && (file.st_mode & S_ISUID) != 0;
  }

 private:
  static bool is_sudos(std::string_view path) {
    return path == "libexec/sudo" || path == "lib/sudo";
  }
};

class TreeCopier {
 public:
  TreeCopier(const Choice& choice, std::uint32_t owner) : choice_(choice), owner_(owner) {}

  // The content of one directory.
  Result<> copy(const UniqueFd& from, const UniqueFd& to, const std::string& path, int level) {
    if (level > kMostLevels) return {};
    const OpenDirectory listed(
        ::fdopendir(::openat(from.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    if (!listed) return {};
    const bool files = choice_.looks_at_files_of(path);
    while (const dirent* entry = ::readdir(listed.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      const bool may_be_directory = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
      if (!files && !may_be_directory) continue;
      struct stat info {};
      if (::fstatat(from.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISDIR(info.st_mode)) {
        TRY_OK(copy_directory(from, to, path, entry->d_name, info.st_mode, level));
      } else if (files && choice_.takes(path, info)) {
        TRY_OK(S_ISLNK(info.st_mode) ? copy_link(from, to, entry->d_name)
                                     : copy_file(from, to, entry->d_name, info.st_mode));
      }
    }
    return {};
  }

 private:
  Result<> copy_directory(const UniqueFd& from, const UniqueFd& to, const std::string& path,
                          const char* name, mode_t mode, int level) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    const UniqueFd source(::openat(from.get(), name, kFlags));
    if (!source) return {};  // the launcher's user may not read it
    if (::mkdirat(to.get(), name, 0700) != 0) return failed("make the directory", name);
    const UniqueFd target(::openat(to.get(), name, kFlags));
    if (!target) return failed("open the directory", name);
    TRY_OK(copy(source, target, path.empty() ? name : path + "/" + name, level + 1));
    return finish(target, name, mode);
  }

  Result<> copy_link(const UniqueFd& from, const UniqueFd& to, const char* name) {
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(from.get(), name, target, sizeof target - 1);
    if (size < 0) return {};
    target[size] = '\0';
    if (::symlinkat(target, to.get(), name) != 0) return failed("link", name);
    if (owner_ != 0 && ::fchownat(to.get(), name, owner_, owner_, AT_SYMLINK_NOFOLLOW) != 0) {
      return failed("change the owner of", name);
    }
    return {};
  }

  Result<> copy_file(const UniqueFd& from, const UniqueFd& to, const char* name, mode_t mode) {
    const UniqueFd source(
        ::openat(from.get(), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!source) return {};  // as above
    const UniqueFd target(
        ::openat(to.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!target) return failed("create", name);
    constexpr std::size_t kChunk = 1u << 20;
    ssize_t moved = 0;
    while ((moved = ::sendfile(target.get(), source.get(), nullptr, kChunk)) > 0) {
    }
    if (moved < 0) return failed("copy", name);
    return finish(target, name, mode);
  }

  // The owner first: a change of it takes the setuid bit away.
  Result<> finish(const UniqueFd& made, const char* name, mode_t mode) const {
    if (owner_ != 0 && ::fchown(made.get(), owner_, owner_) != 0) {
      return failed("change the owner of", name);
    }
    // No setgid: the host's groups are not the sandbox's.
    if (::fchmod(made.get(), mode & (S_ISUID | S_ISVTX | 0777)) != 0) return failed("chmod", name);
    return {};
  }

  static tl::unexpected<Error> failed(const char* doing, const char* name) {
    return fail(Error::from_errno(std::string(doing) + " " + name));
  }

  const Choice& choice_;
  std::uint32_t owner_;
};

Result<std::string> copy_tree(const std::string& from, const std::string& to, const Choice& choice,
                              std::uint32_t owner) {
  if (::mkdir(to.c_str(), 0755) != 0) return fail(Error::from_errno("make " + to));
  if (owner != 0 && ::chown(to.c_str(), owner, owner) != 0) {
    return fail(Error::from_errno("change the owner of " + to));
  }
  const UniqueFd source(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd target(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!source || !target) return fail(Error::from_errno("open " + (source ? to : from)));
  if (auto copied = TreeCopier(choice, owner).copy(source, target, "", 0); !copied) {
    return fail(std::move(copied.error()).context("copy what root owns of " + from));
  }
  return to;
}

}  // namespace

Result<RootCopies> make_root_copies(const std::string& place, const std::string& host_layer,
                                    const std::string& usr, std::uint32_t owner) {
  RootCopies copies;
  TRY(copies.root, copy_tree(host_layer, place + "/root", OfHostLayer(), owner));
  TRY(copies.usr, copy_tree(usr, place + "/usr", OfUsr(), owner));
  return copies;
}

}  // namespace glovebox::launcher
