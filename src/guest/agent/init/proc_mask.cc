#include "guest/agent/init/proc_mask.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace glovebox::agent {
namespace {

// Files that reveal the host's secrets, addresses or hardware: covered by the null device.
constexpr const char* kHiddenFiles[] = {
    "kcore",       "kallsyms",      "keys",          "key-users",   "kmsg",         "timer_list",
    "sched_debug", "latency_stats", "sysrq-trigger", "kpagecount",  "kpageflags",   "kpagecgroup",
    "iomem",       "ioports",       "cmdline",       "config.gz",   "modules",      "partitions",
    "diskstats",   "interrupts",    "slabinfo",      "vmallocinfo", "pagetypeinfo", "zoneinfo",
    "schedstat",   "swaps",         "mtrr",          "locks",       "bootconfig",   "buddyinfo",
    "softirqs",    "consoles",      "misc",
};
// Directories: covered by an empty one.
constexpr const char* kHiddenDirectories[] = {
    "acpi", "asound", "bus",     "driver", "dynamic_debug", "fs",
    "irq",  "scsi",   "sysvipc", "tty",    "pressure",
};
constexpr const char* kReadOnly[] = {"sys"};

Result<> cover(const char* source, const char* type, unsigned long flags,
               const std::string& target) {
  if (::mount(source, target.c_str(), type, flags,
              type != nullptr ? "size=4k,nr_inodes=1" : nullptr) != 0 &&
      errno != ENOENT) {
    return fail(Error::from_errno("cover " + target));
  }
  return {};
}

}  // namespace

Result<> mask_proc_below(const std::string& root) {
  const std::string null = root + "/dev/null";
  for (const char* name : kHiddenFiles) {
    const std::string target = root + "/proc/" + name;
    // What only the host's root may open needs no cover: no process in here is that user, nor has
    // rights over a file of its.
    struct stat info {};
    if (::stat(target.c_str(), &info) != 0 || (info.st_mode & 0077) == 0) continue;
    TRY_OK(cover(null.c_str(), nullptr, MS_BIND, target));
  }
  // One empty filesystem for all directories: a mount costs a few microseconds, a tmpfs thirty.
  std::string empty;
  for (const char* name : kHiddenDirectories) {
    const std::string target = root + "/proc/" + name;
    if (::access(target.c_str(), F_OK) != 0) continue;
    if (empty.empty()) {
      TRY_OK(cover("none", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, target));
      empty = target;
    } else {
      TRY_OK(cover(empty.c_str(), nullptr, MS_BIND, target));
    }
  }
  for (const char* name : kReadOnly) {
    const std::string target = root + "/proc/" + name;
    TRY_OK(cover(target.c_str(), nullptr, MS_BIND, target));
    if (::mount(nullptr, target.c_str(), nullptr,
                MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                nullptr) != 0) {
      return fail(Error::from_errno("make read-only " + target));
    }
  }
  return {};
}

}  // namespace glovebox::agent
