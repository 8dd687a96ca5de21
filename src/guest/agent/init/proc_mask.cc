#include "guest/agent/init/proc_mask.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/agent/init/root_view.h"

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

Result<> cover(const std::string& source, const std::string& target) {
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0 && errno != ENOENT) {
    return fail(Error::from_errno("cover " + target));
  }
  return {};
}

}  // namespace

ProcMask learn_proc_mask(const std::string& root) {
  ProcMask mask;
  for (const char* name : kHiddenFiles) {
    // What only the host's root may open needs no cover: no process in a sandbox is that user, nor
    // has rights over a file of its.
    struct stat info {};
    if (::stat((root + "/proc/" + name).c_str(), &info) != 0 || (info.st_mode & 0077) == 0) {
      continue;
    }
    mask.files.push_back(name);
  }
  for (const char* name : kHiddenDirectories) {
    if (::access((root + "/proc/" + name).c_str(), F_OK) == 0) mask.directories.push_back(name);
  }
  return mask;
}

const ProcMask& LearntProcMask::get() {
  constexpr std::chrono::seconds kLookAgain{1};
  const auto now = std::chrono::steady_clock::now();
  if (learnt_at_ == std::chrono::steady_clock::time_point{} || now - learnt_at_ >= kLookAgain) {
    mask_ = learn_proc_mask("");
    learnt_at_ = now;
  }
  return mask_;
}

Result<> mask_proc_below(const std::string& root, const ProcMask& mask) {
  const std::string null = root + "/dev/null";
  for (const char* name : mask.files) TRY_OK(cover(null, root + "/proc/" + name));
  // The launcher's directory: of a tmpfs that is mounted in here, /proc/mounts would show the owner
  // by its number on the host.
  const std::string empty = root + "/dev/pts";
  for (const char* name : mask.directories) TRY_OK(cover(empty, root + "/proc/" + name));
  for (const char* name : kReadOnly) {
    const std::string target = root + "/proc/" + name;
    TRY_OK(cover(target, target));
    if (::mount(nullptr, target.c_str(), nullptr,
                MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                nullptr) != 0) {
      return fail(Error::from_errno("make read-only " + target));
    }
  }
  return {};
}

Result<> attach_boot_id(int mount_fd) {
  auto attached = attach(mount_fd, "/proc/sys/kernel/random/boot_id");
  // A kernel without it has none to hide.
  if (!attached && attached.error().sys_errno() != ENOENT) return attached;
  return {};
}

}  // namespace glovebox::agent
