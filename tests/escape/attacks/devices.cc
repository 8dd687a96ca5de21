// Attacks by device files: nodes made by the guest, and those that /dev might hold.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

Verdict host_block_node(const std::string& dir) {
  struct stat usr {};
  if (stat("/usr", &usr) != 0) return not_tried("stat /usr");
  // The disk of /usr, and, since an overlay hides its number, those that many machines have.
  Verdict verdict;
  for (const dev_t disk :
       {usr.st_dev, makedev(254, 0), makedev(8, 0), makedev(259, 0), makedev(7, 0)}) {
    const std::string node = dir + "/disk";
    if (mknod(node.c_str(), S_IFBLK | 0600, disk) != 0) return denied_by_errno("mknod", errno);
    verdict = by_open(node, O_RDONLY);
    unlink(node.c_str());
    if (verdict.code == kSucceeded) return verdict;
  }
  return verdict;
}

Verdict mknod_disk(const Args&) {
  const std::string dir = make_work_dir();
  const Verdict verdict = host_block_node(dir);
  rmdir(dir.c_str());
  return verdict;
}
Verdict mknod_disk_control(const Args&) { return in_scratch(host_block_node); }

Verdict mknod_char(const Args&) {
  const std::string node = make_work_dir() + "/null";
  if (mknod(node.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0)
    return denied_by_errno("mknod", errno);
  return by_open(node, O_RDWR);
}
Verdict mknod_char_control(const Args& args) {
  return in_scratch([&](const std::string&) { return mknod_char(args); });
}

Verdict disk_devices(const Args&) {
  int seen = 0;
  for (const std::string& name : list_dir("/dev")) {
    struct stat info {};
    const std::string path = "/dev/" + name;
    if (lstat(path.c_str(), &info) != 0 || !S_ISBLK(info.st_mode)) continue;
    ++seen;
    const Verdict verdict = by_open(path, O_RDONLY);
    if (verdict.code == kSucceeded) return verdict;
  }
  return denied(std::to_string(seen) + " block devices in /dev, none opens");
}

Verdict first_that_opens(std::initializer_list<const char*> paths, int flags) {
  Verdict last = denied("nothing to open", ENOENT);
  for (const char* path : paths) {
    last = by_open(path, flags);
    if (last.code == kSucceeded) return last;
  }
  return last;
}

Verdict raw_memory(const Args&) {
  return first_that_opens({"/dev/mem", "/dev/kmem", "/dev/port"}, O_RDONLY);
}
Verdict dev_kmsg(const Args&) { return by_open("/dev/kmsg", O_RDONLY); }
Verdict dev_kvm(const Args&) { return by_open("/dev/kvm", O_RDWR); }
Verdict dev_fuse(const Args&) { return by_open("/dev/fuse", O_RDWR); }
Verdict dev_loop(const Args&) { return by_open("/dev/loop-control", O_RDWR); }
Verdict dev_console(const Args&) {
  return first_that_opens({"/dev/console", "/dev/tty0", "/dev/tty1"}, O_RDWR);
}

const Attack kAttacks[] = {
    {.name = "file_mknod_disk",
     .aims_at = "a host disk by a device node of our own",
     .held_by = "no capabilities, nodev",
     .run = mknod_disk,
     .control = mknod_disk_control},
    {.name = "file_mknod_char",
     .aims_at = "a character device of our own making",
     .held_by = "no capabilities, nodev",
     .run = mknod_char,
     .control = mknod_char_control},
    {.name = "file_disk_devices",
     .aims_at = "a host disk in /dev",
     .held_by = "minimal /dev",
     .run = disk_devices},
    {.name = "file_raw_memory",
     .aims_at = "the machine's memory in /dev/mem",
     .held_by = "minimal /dev",
     .run = raw_memory,
     .absent = ENOENT},
    {.name = "file_dev_kmsg",
     .aims_at = "the kernel's log device",
     .held_by = "minimal /dev",
     .run = dev_kmsg,
     .absent = ENOENT},
    {.name = "file_dev_kvm",
     .aims_at = "the virtual machine device",
     .held_by = "minimal /dev",
     .run = dev_kvm,
     .absent = ENOENT},
    {.name = "file_dev_fuse",
     .aims_at = "a file system server in the kernel",
     .held_by = "minimal /dev",
     .run = dev_fuse,
     .absent = ENOENT},
    {.name = "file_dev_loop",
     .aims_at = "loop devices",
     .held_by = "minimal /dev",
     .run = dev_loop,
     .absent = ENOENT},
    {.name = "file_dev_console",
     .aims_at = "the machine's console",
     .held_by = "minimal /dev",
     .run = dev_console},
};

}  // namespace

Group device_attacks() { return {"files", kAttacks}; }

}  // namespace glovebox::attacks
