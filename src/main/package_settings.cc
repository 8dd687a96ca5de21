#include "main/package_settings.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <string>

#include "base/id.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "config/package_index.h"

namespace glovebox::server {
namespace {

std::string boot_id() {
  const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
  std::string id(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!id.empty() && id.back() == '\n') id.pop_back();
  // Unknown: every server then checks the layers itself.
  return id.empty() ? random_label(20) : id;
}

std::string architecture() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "unknown";
}

// Sandboxes use the interpreters of the host. Read each time: the host may be upgraded while the
// server runs. Nothing that a guest controls is read.
std::string interpreter_mark(packages::PackageManager manager) {
  const char* path =
      manager == packages::PackageManager::kPip ? "/usr/bin/python3" : "/usr/bin/node";
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path, target, sizeof target);
  std::string mark(target, size > 0 ? static_cast<std::size_t>(size) : 0);
  struct stat there {};
  if (::stat(path, &there) != 0) return mark;
  return mark + " " + std::to_string(there.st_size) + " " + std::to_string(there.st_mtim.tv_sec);
}

}  // namespace

PackageSettings read_package_settings(const config::Settings& settings) {
  PackageSettings out;
  out.building.timeout = settings.deps_build_timeout;
  out.building.memory_bytes = settings.deps_build_memory;
  out.building.disk_bytes = settings.deps_build_disk;
  out.building.max_layer_bytes = settings.deps_max_layer;

  packages::PackageServiceOptions& options = out.service;
  options.enabled = settings.deps_enabled;
  options.shared = settings.deps_shared;
  options.architecture = architecture();
  options.boot_id = boot_id();
  options.interpreter_mark = interpreter_mark;
  options.resolve_ttl = settings.deps_resolve_ttl;
  options.failure_ttl = settings.deps_failure_ttl;
  options.check_every = settings.deps_check_every;
  options.disk_ceiling = settings.deps_disk_ceiling;
  options.max_builds = static_cast<std::uint32_t>(settings.deps_max_builds);
  if (!options.enabled) return out;
  auto indexes = config::read_package_indexes(settings, config::own_environment());
  if (!indexes) {
    options.unusable = indexes.error().message();
    log::warn("packages are unavailable: the index settings are unusable",
              {{"error", options.unusable}});
    return out;
  }
  options.pip_index = indexes->shown_pip();
  options.npm_index = indexes->shown_npm();
  out.building.indexes = std::move(*indexes);
  return out;
}

}  // namespace glovebox::server
