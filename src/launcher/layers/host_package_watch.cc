#include "launcher/layers/host_package_watch.h"

#include <sys/stat.h>

namespace glovebox::launcher {
namespace {

constexpr std::chrono::seconds kQuietTime{2};

// What a package manager changes with every package, and the interpreters themselves.
constexpr const char* kWatchedPaths[] = {
    "/var/lib/dpkg/status",           "/var/lib/rpm",          "/usr/lib/sysimage/rpm",
    "/var/lib/pacman/local",          "/lib/apk/db/installed", "/usr/bin/python3",
    "/usr/lib/python3/dist-packages", "/usr/bin/node",
};

std::string current_state() {
  std::string seen;
  for (const char* path : kWatchedPaths) {
    struct stat info {};
    if (::stat(path, &info) != 0) continue;
    seen += std::to_string(info.st_ino) + ":" + std::to_string(info.st_mtim.tv_sec) + "." +
            std::to_string(info.st_mtim.tv_nsec) + ";";
  }
  return seen;
}

}  // namespace

HostPackageWatch::HostPackageWatch()
    : used_(current_state()), seen_(used_), seen_since_(std::chrono::steady_clock::now()) {}

bool HostPackageWatch::have_changed() {
  const auto now = std::chrono::steady_clock::now();
  std::string seen = current_state();
  if (seen != seen_) {
    seen_ = std::move(seen);
    seen_since_ = now;
    return false;
  }
  if (seen_ == used_ || now < seen_since_ + kQuietTime) return false;
  used_ = seen_;
  return true;
}

}  // namespace glovebox::launcher
