// Attacks on the kernel through its files: programs the kernel runs as root on the host, switches
// in /proc/sys and /sys. All are opened for writing and none is written.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

// A cgroup v1 hierarchy of our own, whose release agent the kernel would run as root outside.
Verdict release_agent(const Args&) {
  const std::string dir = make_work_dir();
  for (const char* controllers : {"none,name=gbxattack", "memory", "pids", "rdma"}) {
    if (mount("cgroup", dir.c_str(), "cgroup", 0, controllers) == 0) {
      const Verdict verdict = by_open(dir + "/release_agent", O_WRONLY);
      umount2(dir.c_str(), MNT_DETACH);
      rmdir(dir.c_str());
      return verdict;
    }
  }
  const int err = errno;
  rmdir(dir.c_str());
  return denied_by_errno("mount cgroup v1", err);
}
Verdict release_agent_control(const Args& args) {
  return in_mount_namespace([&] { return release_agent(args); });
}

Verdict mounted_cgroups(const Args&) {
  for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory",
                           "/sys/fs/cgroup/pids"}) {
    const Verdict verdict = by_open(std::string(root) + "/cgroup.procs", O_WRONLY);
    if (verdict.code == kSucceeded) return verdict;
  }
  return denied("no cgroup.procs opens for writing", ENOENT);
}

// mount(2) gives a private instance in a user namespace, so it shows whether mounting is possible.
Verdict binary_formats(const Args&) {
  const Verdict there = by_open("/proc/sys/fs/binfmt_misc/register", O_WRONLY);
  if (there.code == kSucceeded) return there;
  const std::string dir = make_work_dir();
  if (mount("binfmt_misc", dir.c_str(), "binfmt_misc", 0, nullptr) != 0) {
    const int err = errno;
    rmdir(dir.c_str());
    return denied_by_errno("mount binfmt_misc", err);
  }
  const Verdict verdict = by_open(dir + "/register", O_WRONLY);
  umount2(dir.c_str(), MNT_DETACH);
  rmdir(dir.c_str());
  return verdict;
}
Verdict binary_formats_control(const Args& args) {
  return in_mount_namespace([&] { return binary_formats(args); });
}

Verdict core_pattern(const Args&) { return by_open("/proc/sys/kernel/core_pattern", O_WRONLY); }
Verdict modprobe(const Args&) { return by_open("/proc/sys/kernel/modprobe", O_WRONLY); }
Verdict hotplug(const Args&) { return by_open("/sys/kernel/uevent_helper", O_WRONLY); }
Verdict sysrq(const Args&) { return by_open("/proc/sysrq-trigger", O_WRONLY); }
Verdict panic_switch(const Args&) { return by_open("/proc/sys/kernel/panic", O_WRONLY); }
Verdict overcommit(const Args&) { return by_open("/proc/sys/vm/overcommit_memory", O_WRONLY); }
Verdict drop_caches(const Args&) { return by_open("/proc/sys/vm/drop_caches", O_WRONLY); }
Verdict user_quotas(const Args&) {
  return by_open("/proc/sys/user/max_inotify_instances", O_WRONLY);
}
Verdict user_quotas_control(const Args& args) {
  return in_child([&] {
    if (!become_root_of_new_users()) return not_tried("new user namespace");
    return user_quotas(args);
  });
}
Verdict port_start(const Args&) {
  return by_open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY);
}
Verdict interrupts(const Args&) { return by_open("/proc/irq/default_smp_affinity", O_WRONLY); }
Verdict memory_types(const Args&) { return by_open("/proc/mtrr", O_WRONLY); }
Verdict debug_files(const Args&) {
  const std::string dir = make_work_dir();
  for (const char* type : {"debugfs", "tracefs", "securityfs", "bpf"}) {
    if (mount(type, dir.c_str(), type, 0, nullptr) == 0) {
      umount2(dir.c_str(), MNT_DETACH);
      rmdir(dir.c_str());
      return succeeded(std::string("mounted ") + type);
    }
  }
  const int err = errno;
  rmdir(dir.c_str());
  return denied_by_errno("mount debugfs", err);
}
Verdict debug_files_control(const Args& args) {
  return in_mount_namespace([&] { return debug_files(args); });
}

const char* const kProc = "user namespace, masked /proc";
const Attack kAttacks[] = {
    {.name = "kernel_release_agent",
     .aims_at = "a program run as root when a cgroup empties",
     .held_by = "seccomp, no capabilities",
     .run = release_agent,
     .control = release_agent_control,
     .absent = ENODEV},
    {.name = "kernel_cgroup_files",
     .aims_at = "the host's cgroups",
     .held_by = "no /sys",
     .run = mounted_cgroups},
    {.name = "kernel_binfmt",
     .aims_at = "a program run for every binary",
     .held_by = "seccomp, masked /proc",
     .run = binary_formats,
     .control = binary_formats_control,
     .absent = ENODEV},
    {.name = "kernel_core_pattern",
     .aims_at = "a program run as root at every crash",
     .held_by = kProc,
     .run = core_pattern,
     .absent = ENOENT},
    {.name = "kernel_modprobe_path",
     .aims_at = "a program run as root to load modules",
     .held_by = kProc,
     .run = modprobe,
     .absent = ENOENT},
    {.name = "kernel_uevent_helper",
     .aims_at = "a program run as root at every device event",
     .held_by = "no /sys",
     .run = hotplug,
     .absent = ENOENT},
    {.name = "kernel_sysrq",
     .aims_at = "a crash or reboot of the host",
     .held_by = kProc,
     .run = sysrq,
     .absent = ENOENT},
    {.name = "kernel_panic_switch",
     .aims_at = "what the host does at a panic",
     .held_by = kProc,
     .run = panic_switch},
    {.name = "kernel_overcommit",
     .aims_at = "the host's memory policy",
     .held_by = kProc,
     .run = overcommit},
    {.name = "kernel_drop_caches",
     .aims_at = "the host's caches",
     .held_by = kProc,
     .run = drop_caches},
    {.name = "kernel_user_quotas",
     .aims_at = "the sandbox's own kernel quotas",
     .held_by = kProc,
     .run = user_quotas,
     .control = user_quotas_control},
    {.name = "kernel_port_start",
     .aims_at = "the settings of the network",
     .held_by = kProc,
     .run = port_start},
    {.name = "kernel_interrupts",
     .aims_at = "where interrupts go",
     .held_by = kProc,
     .run = interrupts,
     .absent = ENOENT},
    {.name = "kernel_mtrr",
     .aims_at = "how memory is cached",
     .held_by = kProc,
     .run = memory_types,
     .absent = ENOENT},
    {.name = "kernel_debugfs",
     .aims_at = "the kernel's debugging files",
     .held_by = "seccomp, no capabilities",
     .run = debug_files,
     .control = debug_files_control},
};

}  // namespace

Group kernel_file_attacks() { return {"kernel", kAttacks}; }

}  // namespace glovebox::attacks
