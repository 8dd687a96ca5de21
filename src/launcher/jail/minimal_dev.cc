#include "launcher/jail/minimal_dev.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "launcher/jail/made_files.h"
#include "sys/mount.h"

namespace glovebox::launcher {
namespace {

constexpr std::uint64_t kFlags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;

struct Link {
  const char* name;
  const char* target;
};
constexpr Link kLinks[] = {{"fd", "/proc/self/fd"},
                           {"stdin", "/proc/self/fd/0"},
                           {"stdout", "/proc/self/fd/1"},
                           {"stderr", "/proc/self/fd/2"},
                           {"ptmx", "pts/ptmx"}};

Result<> make_read_only(int mount) {
  return sys::restrict_mount(mount, MOUNT_ATTR_RDONLY, sys::Submounts::kLeaveOut);
}

}  // namespace

Result<MinimalDev> MinimalDev::open(std::string place) {
  MinimalDev dev(std::move(place));
  for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
    struct stat host {};
    const std::string path = std::string("/dev/") + name;
    if (::stat(path.c_str(), &host) != 0) return fail(Error::from_errno("stat " + path));
    if (!S_ISCHR(host.st_mode)) return fail(Errc::kUnsupported, path + " is not a device");
    dev.devices_.push_back({name, host.st_rdev});
  }
  TRY(const UniqueFd trial, make_directory());
  if (!make_node(trial.get(), dev.devices_.front())) TRY_OK(dev.bind_nodes_of_host());
  return dev;
}

Result<UniqueFd> MinimalDev::build() const {
  if (is_bound_) return sys::clone_mount(AT_FDCWD, place_, sys::Submounts::kTakeAlong);
  TRY(UniqueFd tmpfs, make_directory());
  for (const Device& one : devices_) TRY_OK(make_node(tmpfs.get(), one));
  TRY_OK(make_read_only(tmpfs.get()));
  return tmpfs;
}

// Without its devices.
Result<UniqueFd> MinimalDev::make_directory() {
  TRY(UniqueFd tmpfs, sys::new_mount("tmpfs", {{"size", "64k"}, {"mode", "0755"}}, kFlags));
  TRY_OK(make_dir(tmpfs.get(), "pts", 0755, 0, false));
  TRY_OK(make_dir(tmpfs.get(), "shm", 01777, 0, false));
  for (const Link& link : kLinks) {
    if (::symlinkat(link.target, tmpfs.get(), link.name) != 0) {
      return fail(Error::from_errno(std::string("link /dev/") + link.name));
    }
  }
  return tmpfs;
}

Result<> MinimalDev::make_node(int dev, const Device& device) {
  if (::mknodat(dev, device.name, S_IFCHR | 0666, device.number) != 0 ||
      ::fchmodat(dev, device.name, 0666, 0) != 0) {
    return fail(Error::from_errno(std::string("make /dev/") + device.name));
  }
  return {};
}

Result<> MinimalDev::bind_nodes_of_host() {
  is_bound_ = true;
  TRY(const UniqueFd tmpfs, make_directory());
  TRY_OK(sys::attach_mount(tmpfs.get(), AT_FDCWD, place_));
  for (const Device& one : devices_) {
    const UniqueFd made(
        ::openat(tmpfs.get(), one.name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444));
    if (!made) return fail(Error::from_errno(std::string("create /dev/") + one.name));
    TRY(const UniqueFd device,
        sys::clone_mount(AT_FDCWD, std::string("/dev/") + one.name, sys::Submounts::kLeaveOut));
    TRY_OK(sys::restrict_mount(device.get(), kFlags, sys::Submounts::kLeaveOut));
    TRY_OK(sys::attach_mount(device.get(), AT_FDCWD, place_ + "/" + one.name));
  }
  return make_read_only(tmpfs.get());
}

}  // namespace glovebox::launcher
