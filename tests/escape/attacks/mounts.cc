// Attacks on the mount table: new mounts, uncovering what is masked, remounting, the new mount API.
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

template <Step kRun>
Verdict in_own_mounts(const Args& args) {
  return in_scratch([&](const std::string&) { return kRun(args); });
}

Verdict mount_tmpfs(const Args&) {
  return by_result("mount tmpfs", mount("none", make_work_dir().c_str(), "tmpfs", 0, nullptr));
}

Verdict mount_proc(const Args&) {
  return by_result("mount proc", mount("proc", make_work_dir().c_str(), "proc", 0, nullptr));
}

Verdict mount_bind(const Args&) {
  return by_result("bind /", mount("/", make_work_dir().c_str(), nullptr, MS_BIND, nullptr));
}

Verdict mount_overlay(const Args&) {
  const std::string dir = make_work_dir();
  for (const char* name : {"/u", "/w", "/m"}) mkdir((dir + name).c_str(), 0755);
  const std::string options = "lowerdir=/usr,upperdir=" + dir + "/u,workdir=" + dir + "/w";
  return by_result("mount overlay",
                   mount("o", (dir + "/m").c_str(), "overlay", 0, options.c_str()));
}

Verdict umount_proc(const Args&) { return by_result("umount /proc", umount2("/proc", MNT_DETACH)); }

// Mounts that hide parts of /proc are worth as much as what they hide.
Verdict uncover_masks(const Args&) {
  Verdict last = denied("nothing is mounted over /proc", EINVAL);
  for (const char* path : {"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sysrq-trigger",
                           "/proc/sys", "/proc/kallsyms", "/proc/partitions", "/proc/version"}) {
    last = by_result(std::string("umount ") + path, umount2(path, MNT_DETACH));
    if (last.code == kSucceeded) return last;
  }
  return last;
}
Verdict uncover_masks_control(const Args& args) {
  return in_mount_namespace([&] {
    if (mount("/dev/null", "/proc/version", nullptr, MS_BIND, nullptr) != 0) {
      return not_tried("mask /proc/version");
    }
    return uncover_masks(args);
  });
}

Verdict remount_usr(const Args&) {
  if (mount(nullptr, "/usr", nullptr, MS_REMOUNT | MS_BIND, nullptr) != 0 &&
      mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND, nullptr) != 0) {
    return denied_by_errno("remount", errno);
  }
  return succeeded("remounted read-write");
}
Verdict remount_usr_control(const Args& args) {
  return in_mount_namespace([&] {
    if (mount("/usr", "/usr", nullptr, MS_BIND, nullptr) != 0 ||
        mount(nullptr, "/usr", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
      return not_tried("bind /usr read-only");
    }
    return remount_usr(args);
  });
}

Verdict make_shared(const Args&) {
  return by_result("make / shared", mount(nullptr, "/", nullptr, MS_SHARED, nullptr));
}
Verdict make_shared_control(const Args& args) {
  return in_mount_namespace([&] { return make_shared(args); });
}

Verdict pivot(const Args&) {
  // A directory that does not exist: the right to pivot is checked before it is looked up.
  return by_reach("pivot_root", syscall(SYS_pivot_root, "/gbx-nowhere", "/gbx-nowhere"));
}

Verdict open_tree_clone(const Args&) {
  return by_result("open_tree clone",
                   syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

Verdict fsopen_tmpfs(const Args&) {
  return by_result("fsopen tmpfs", syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
}

Verdict fspick_root(const Args&) {
  return by_result("fspick", syscall(SYS_fspick, AT_FDCWD, "/", FSPICK_CLOEXEC));
}
Verdict fspick_root_control(const Args&) {
  return in_scratch([](const std::string& dir) {
    return by_result("fspick", syscall(SYS_fspick, AT_FDCWD, dir.c_str(), FSPICK_CLOEXEC));
  });
}

Verdict move_mount_wrong(const Args&) {
  return by_reach("move_mount", syscall(SYS_move_mount, -1, "", -1, "", 0));
}

Verdict mount_setattr_wrong(const Args&) {
  mount_attr attributes{};
  attributes.attr_clr = MOUNT_ATTR_RDONLY;
  return by_reach("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/gbx-nowhere", 0,
                                           &attributes, sizeof attributes));
}

const char* const kNoMounts = "seccomp, no capabilities";
const Attack kAttacks[] = {
    {.name = "mounts_tmpfs",
     .aims_at = "a mount of our own",
     .held_by = kNoMounts,
     .run = mount_tmpfs,
     .control = in_own_mounts<mount_tmpfs>},
    {.name = "mounts_proc",
     .aims_at = "an unmasked /proc",
     .held_by = kNoMounts,
     .run = mount_proc,
     .control = in_own_mounts<mount_proc>},
    {.name = "mounts_bind",
     .aims_at = "the root without what covers it",
     .held_by = kNoMounts,
     .run = mount_bind,
     .control = in_own_mounts<mount_bind>},
    {.name = "mounts_overlay",
     .aims_at = "a writable overlay over /usr",
     .held_by = kNoMounts,
     .run = mount_overlay,
     .control = in_own_mounts<mount_overlay>,
     .absent = ENODEV},
    {.name = "mounts_umount_proc",
     .aims_at = "taking /proc away",
     .held_by = kNoMounts,
     .run = umount_proc,
     .control = in_own_mounts<umount_proc>},
    {.name = "mounts_uncover_masks",
     .aims_at = "what is hidden in /proc",
     .held_by = kNoMounts,
     .run = uncover_masks,
     .control = uncover_masks_control},
    {.name = "mounts_remount_usr",
     .aims_at = "a writable /usr by remounting",
     .held_by = kNoMounts,
     .run = remount_usr,
     .control = remount_usr_control},
    {.name = "mounts_make_shared",
     .aims_at = "mounts that propagate",
     .held_by = kNoMounts,
     .run = make_shared,
     .control = make_shared_control},
    {.name = "mounts_pivot_root",
     .aims_at = "another root directory",
     .held_by = kNoMounts,
     .run = pivot},
    {.name = "mounts_open_tree",
     .aims_at = "a clone of the mount tree",
     .held_by = kNoMounts,
     .run = open_tree_clone},
    {.name = "mounts_fsopen",
     .aims_at = "a new file system by fsopen",
     .held_by = kNoMounts,
     .run = fsopen_tmpfs},
    {.name = "mounts_fspick",
     .aims_at = "reconfiguring the root's file system",
     .held_by = kNoMounts,
     .run = fspick_root,
     .control = fspick_root_control},
    {.name = "mounts_move_mount",
     .aims_at = "moving a mount",
     .held_by = kNoMounts,
     .run = move_mount_wrong},
    {.name = "mounts_setattr",
     .aims_at = "clearing a mount's read-only flag",
     .held_by = kNoMounts,
     .run = mount_setattr_wrong},
};

}  // namespace

Group mount_attacks() { return {"files", kAttacks}; }

}  // namespace glovebox::attacks
