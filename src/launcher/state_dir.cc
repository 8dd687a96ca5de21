#include "launcher/state_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/log.h"
#include "probe/own_user.h"
#include "sys/remove_tree.h"

namespace glovebox::launcher {
namespace {

constexpr const char* kCgroupPrefix = "glovebox-";
constexpr const char* kRootBase = "/run/glovebox";

constexpr const char* kScratch = "/scratch";

// Earlier versions had directories.
UniqueFd open_record(int at, const char* name) {
  return UniqueFd(::openat(at, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

bool remove_record(int at, const char* name, int record) {
  struct stat info {};
  const bool directory = ::fstat(record, &info) == 0 && S_ISDIR(info.st_mode);
  return ::unlinkat(at, name, directory ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT;
}

std::string home_prefix(const LauncherId& id) { return "home-" + id.str() + "-"; }

// Whether none is left.
bool remove_homes(const std::string& base, const LauncherId& id) {
  bool all = true;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(homes_below(base), error)) {
    if (entry.path().filename().string().rfind(home_prefix(id), 0) != 0) continue;
    all = sys::remove_tree(entry.path()).has_value() && all;
  }
  return all;
}

bool same_file(int fd, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

// Its mode. In /tmp another user could have created it first.
Result<mode_t> check_own_directory(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return fail(Error::from_errno("stat " + path));
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return fail(Errc::kPermissionDenied, path +
                                             " must be a directory that is owned by the "
                                             "launcher's user and not writable by others");
  }
  return info.st_mode;
}

}  // namespace

Result<StateDir> StateDir::claim(const std::string& base) {
  for (int tries = 0; tries < 16; ++tries) {
    if (::mkdir(base.c_str(), 0711) != 0 && errno != EEXIST) {
      return fail(Error::from_errno("make " + base));
    }
    TRY(const mode_t mode, check_own_directory(base));
    // Searchable but not listable: other users reach a directory below it only by its name.
    if ((mode & 0777) != 0711 && ::chmod(base.c_str(), 0711) != 0) {
      return fail(Error::from_errno("chmod " + base));
    }
    const std::string scratch = base + kScratch;
    if (::mkdir(scratch.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(Error::from_errno("make " + scratch));
    }
    LauncherId id = LauncherId::make();
    const std::string path = base + "/" + id.str();
    UniqueFd lock(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) {
      if (errno == EEXIST) continue;
      return fail(Error::from_errno("make " + path));
    }
    // Between the two calls a sweeping launcher may have taken the new file for a dead launcher's
    // and locked or removed it: then another id is tried.
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 && same_file(lock.get(), path)) {
      return StateDir(base, std::move(id), std::move(lock));
    }
  }
  return fail(Errc::kUnavailable, "could not create and lock a launcher's record in " + base);
}

StateDir::~StateDir() { remove(); }

void StateDir::remove() {
  if (!lock_) return;
  // Removed while locked, so that no sweep takes it for a dead launcher's.
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    log::warn("the launcher's record could not be removed", {{"path", path_}});
  }
  lock_.reset();
}

std::string StateDir::scratch() const { return base_ + kScratch; }

std::string StateDir::home_of(const SandboxId& sandbox) const {
  return homes_below(base_) + "/" + home_prefix(id_) + sandbox.str();
}

std::string StateDir::cgroup_prefix() const { return kCgroupPrefix + id_.str() + "-"; }

std::string StateDir::cgroup_name(const SandboxId& sandbox) const {
  return cgroup_prefix() + sandbox.str();
}

std::string StateDir::family_name() const { return cgroup_prefix() + "family"; }

int sweep_dead_launchers(const std::string& base, const sys::CgroupRoots& roots) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(base.c_str()), ::closedir);
  if (!dir) return 0;
  int swept = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    const auto id = LauncherId::parse(entry->d_name);
    if (!id) continue;
    const UniqueFd lock = open_record(::dirfd(dir.get()), entry->d_name);
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;  // a live launcher
    const int groups = sys::Cgroup::sweep(roots, kCgroupPrefix + id->str() + "-");
    // A later sweep finds the rest by this record, so it is removed last.
    if (!remove_homes(base, *id)) continue;
    if (!remove_record(::dirfd(dir.get()), entry->d_name, lock.get())) {
      log::warn("the record of a dead launcher could not be removed", {{"launcher", id->str()}});
      continue;
    }
    log::info("cleaned up after a dead launcher",
              {{"launcher", id->str()}, {"cgroups", std::to_string(groups)}});
    ++swept;
  }
  return swept;
}

// Programs are run from there, and many hosts mount /run noexec.
std::string homes_below(const std::string& base) {
  return base == kRootBase ? "/var/lib/glovebox/homes" : base;
}

std::string own_leases_dir() {
  const std::string home = probe::own_user_home();
  struct stat info {};
  const bool usable = home.size() > 1 && home[0] == '/' && ::stat(home.c_str(), &info) == 0 &&
                      S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
  if (usable) return home + "/.local/state/glovebox";
  return "/tmp/glovebox-" + std::to_string(::geteuid());
}

Result<std::string> make_leases_file(const std::string& dir) {
  // A new home has neither ".local" nor what is below it.
  for (std::size_t end = dir.find('/', 1); end != std::string::npos; end = dir.find('/', end + 1)) {
    (void)::mkdir(dir.substr(0, end).c_str(), 0700);
  }
  if (::mkdir(dir.c_str(), 0711) != 0 && errno != EEXIST) {
    return fail(Error::from_errno("make " + dir));
  }
  TRY_OK(check_own_directory(dir));
  return dir + "/uid-leases";
}

std::string default_state_base() {
  if (::geteuid() == 0) return kRootBase;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' && ::access(runtime, W_OK) == 0) {
    return std::string(runtime) + "/glovebox";
  }
  return "/tmp/glovebox-" + std::to_string(::geteuid());
}

}  // namespace glovebox::launcher
