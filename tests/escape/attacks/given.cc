// Attacks with what the caller hands in or takes out: descriptors, working directory, terminal,
// mounts of host directories, files brought back by --out.
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The caller had a directory open across exec, as careless programs do.
Verdict leaked_descriptors(const Args& args) {
  for (int fd = 3; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) continue;
    const Verdict inner = read_canary(fd, base_name(args.get("canary")));
    return succeeded("descriptor " + std::to_string(fd) + " is open; " + inner.text);
  }
  return denied("no descriptor above 2 is open", EBADF);
}

Verdict working_directory(const Args& args) {
  return read_canary(AT_FDCWD, base_name(args.get("canary")));
}

// Stdin of the caller is a file. Bytes may come through a pipe; the file itself must not.
Verdict caller_stdin(const Args&) {
  struct stat info {};
  if (fstat(0, &info) != 0) return denied_by_errno("fstat 0", errno);
  if (!S_ISREG(info.st_mode)) return denied("stdin is not the caller's file");
  const int again = open("/proc/self/fd/0", O_RDWR | O_CLOEXEC);
  return succeeded(again >= 0 ? "stdin is the caller's file and opens for writing"
                              : "stdin is the caller's file");
}

Verdict caller_terminal(const Args&) { return by_open("/dev/tty", O_RDWR); }
Verdict caller_terminal_control(const Args& args) {
  return in_child([&] {
    int leader = -1, follower = -1;
    if (openpty(&leader, &follower, nullptr, nullptr, nullptr) != 0) return not_tried("openpty");
    if (setsid() < 0 || ioctl(follower, TIOCSCTTY, 0) != 0) return not_tried("TIOCSCTTY");
    return caller_terminal(args);
  });
}

Verdict mount_write(const Args& args) { return by_open(args.get("mount") + "/gift.txt", O_WRONLY); }

Verdict mount_create(const Args& args) {
  const std::string path = args.get("mount") + "/gbx-attack-made-this";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return denied_by_errno("create", errno);
  close(fd);
  unlink(path.c_str());
  return succeeded("made a file in a read-only mount");
}

Verdict mount_reopen(const Args& args) {
  const int fd = open((args.get("mount") + "/gift.txt").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return denied_by_errno("open", errno);
  return by_open("/proc/self/fd/" + std::to_string(fd), O_RDWR);
}

Verdict mount_dotdot(const Args& args) {
  const int fd = open(args.get("mount").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return denied_by_errno("open", errno);
  return read_canary(fd, "../outside");
}

Verdict mount_symlink(const Args& args) {
  return read_canary(AT_FDCWD, args.get("mount") + "/link-to-outside");
}

Verdict mount_setuid(const Args& args) {
  const std::string dir = args.get("mount");
  if (access((dir + "/suid").c_str(), F_OK) != 0) return not_tried("no setuid file in the mount");
  return in_child([&] {
    const unsigned before = geteuid();
    const pid_t child = fork();
    if (child == 0) {
      execl((dir + "/suid").c_str(), "suid", "whoami", static_cast<char*>(nullptr));
      _exit(errno == EACCES || errno == EPERM ? kDenied : kNotTried);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kSucceeded && before != 0) {
      return succeeded("a setuid program from the mount ran as root");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotTried) return not_tried("exec");
    return denied("the setuid program ran without another uid");
  });
}
Verdict mount_setuid_control(const Args& args) {
  return in_child([&] {
    // The directory's parent is root's alone; as the working directory it is still reachable.
    if (chdir(args.get("mount").c_str()) != 0 || !become_nobody()) return not_tried("drop");
    return mount_setuid(args.with("mount", "."));
  });
}

Verdict mount_device(const Args& args) {
  const std::string path = args.get("mount") + "/zero";
  if (access(path.c_str(), F_OK) != 0) return not_tried("no device in the mount");
  return by_open(path, O_RDONLY);
}

// Only the runner can see what this leaves on the host's disk. A program file that runs as its
// owner is worth having there; there are several ways to make one.
Verdict plant_setuid(const Args& args) {
  const std::string dir = args.get("rw_mount");
  umask(0);
  int made = 0;
  const int changed = open((dir + "/changed").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  if (changed < 0) return denied_by_errno("create", errno);
  (void)!fchown(changed, 0, 0);
  if (fchmod(changed, 06755) == 0) ++made;
  const int created = open((dir + "/created").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 06755);
  if (created >= 0) ++made;
  open_how how{};
  how.flags = O_WRONLY | O_CREAT | O_CLOEXEC;
  how.mode = 06755;
  const long opened = syscall(SYS_openat2, AT_FDCWD, (dir + "/opened").c_str(), &how, sizeof how);
  if (opened >= 0) ++made;
  if (mknod((dir + "/node").c_str(), S_IFREG | 06755, 0) == 0) ++made;
  // Without a name at first, which it gets afterwards.
  const int nameless = open(dir.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 06755);
  const std::string link = "/proc/self/fd/" + std::to_string(nameless);
  if (nameless >= 0 &&
      linkat(AT_FDCWD, link.c_str(), AT_FDCWD, (dir + "/linked").c_str(), AT_SYMLINK_FOLLOW) == 0) {
    ++made;
  }
  return denied("planted by " + std::to_string(made) + " of 5 ways");
}
Verdict plant_setuid_control(const Args& args) {
  return in_scratch([&](const std::string& dir) {
    plant_setuid(args.with("rw_mount", dir));
    // By every way, or one that does not work would never be tried.
    for (const char* name : {"changed", "created", "opened", "node", "linked"}) {
      struct stat info {};
      if (stat((dir + "/" + name).c_str(), &info) != 0 || info.st_uid != 0 ||
          (info.st_mode & S_ISUID) == 0) {
        return denied(std::string("no setuid file of root: ") + name);
      }
    }
    return succeeded("setuid files of root were planted");
  });
}

// `--out` takes this path; what it points to is resolved by the process that takes it.
constexpr const char* kOutPath = "out";
Verdict plant_link(const std::string& target) {
  unlink(kOutPath);
  if (symlink(target.c_str(), kOutPath) != 0) return not_tried("symlink");
  return denied("planted a link to " + target);
}
Verdict out_link(const Args& args) { return plant_link(args.get("canary")); }
Verdict out_proc_link(const Args& args) {
  return plant_link("/proc/self/root" + args.get("canary"));
}
Verdict out_environ(const Args&) { return plant_link("/proc/self/environ"); }
Verdict out_fifo(const Args&) {
  unlink(kOutPath);
  if (mkfifo(kOutPath, 0666) != 0) return not_tried("mkfifo");
  return denied("planted a pipe without a writer");
}
// The controls play a collector that simply opens what it finds.
template <Step kPlant>
Verdict naive_collector(const Args& args) {
  return in_scratch([&](const std::string&) {
    if (const Verdict planted = kPlant(args); planted.code != kDenied) return planted;
    return read_canary(AT_FDCWD, kOutPath);
  });
}
Verdict out_environ_control(const Args& args) {
  return in_scratch([&](const std::string&) {
    out_environ(args);
    if (read_file(kOutPath).find("GBX_ENV_CANARY=") == std::string::npos)
      return denied("not in it");
    return succeeded("the collector's own environment was collected");
  });
}
Verdict out_fifo_control(const Args& args) {
  return in_scratch([&](const std::string&) {
    out_fifo(args);
    const Verdict verdict = in_child(
        [] {
          close(open(kOutPath, O_RDONLY | O_CLOEXEC));
          return denied("the pipe opened at once");
        },
        1);
    if (verdict.text.find("KILL") == std::string::npos) return verdict;
    return succeeded("the collector hangs in open");
  });
}

const Attack kAttacks[] = {
    {.name = "given_leaked_descriptor",
     .aims_at = "a directory the caller left open",
     .held_by = "all descriptors closed",
     .run = leaked_descriptors,
     .needs = "canary leak"},
    {.name = "given_working_directory",
     .aims_at = "the caller's working directory",
     .held_by = "own working directory",
     .run = working_directory,
     .needs = "canary cwd"},
    {.name = "given_stdin_file",
     .aims_at = "the caller's file behind stdin",
     .held_by = "pipes of our own",
     .run = caller_stdin,
     .needs = "canary stdin"},
    {.name = "given_terminal",
     .aims_at = "the caller's terminal by /dev/tty",
     .held_by = "a session of its own",
     .run = caller_terminal,
     .control = caller_terminal_control,
     .needs = "tty"},
    {.name = "mount_write",
     .aims_at = "writing a file of a read-only mount",
     .held_by = "read-only mount",
     .run = mount_write,
     .needs = "mount"},
    {.name = "mount_create",
     .aims_at = "a new file in a read-only mount",
     .held_by = "read-only mount",
     .run = mount_create,
     .needs = "mount"},
    {.name = "mount_reopen",
     .aims_at = "a read-only mount's file through /proc/self/fd",
     .held_by = "read-only mount",
     .run = mount_reopen,
     .needs = "mount"},
    {.name = "mount_dotdot",
     .aims_at = "the directory above a mount by ..",
     .held_by = "pivot_root",
     .run = mount_dotdot,
     .needs = "mount"},
    {.name = "mount_symlink",
     .aims_at = "a host file by a symlink lying in a mount",
     .held_by = "root is our own overlay",
     .run = mount_symlink,
     .needs = "mount canary"},
    {.name = "mount_setuid",
     .aims_at = "root by a setuid program in a mount",
     .held_by = "nosuid, no_new_privs",
     .run = mount_setuid,
     .control = mount_setuid_control,
     .needs = "mount root"},
    {.name = "mount_device",
     .aims_at = "a device node in a mount",
     .held_by = "nodev",
     .run = mount_device,
     .needs = "mount root"},
    {.name = "mount_plant_root",
     .aims_at = "a setuid file of root on the host's disk",
     .held_by = "root's directories are never mounted writable",
     .run = plant_setuid,
     .control = plant_setuid_control,
     .kind = "plant",
     .needs = "rw_mount"},
    {.name = "mount_plant_user",
     .aims_at = "a setuid file of the caller on the host's disk",
     .held_by = "only the caller's uid is mapped, no setuid bits",
     .run = plant_setuid,
     .control = plant_setuid_control,
     .kind = "plant",
     .needs = "rw_mount rw_user root"},
    {.name = "out_symlink",
     .aims_at = "a host file taken out by --out",
     .held_by = "the agent resolves inside",
     .run = out_link,
     .control = naive_collector<out_link>,
     .kind = "out",
     .needs = "canary"},
    {.name = "out_proc_root",
     .aims_at = "a host file by the collector's own root",
     .held_by = "the agent resolves inside",
     .run = out_proc_link,
     .control = naive_collector<out_proc_link>,
     .kind = "out",
     .needs = "canary"},
    {.name = "out_environ",
     .aims_at = "the environment of the process that takes files out",
     .held_by = "the agent resolves inside",
     .run = out_environ,
     .control = out_environ_control,
     .kind = "out",
     .needs = "canary env"},
    {.name = "out_fifo",
     .aims_at = "hanging the process that takes files out",
     .held_by = "opened without waiting",
     .run = out_fifo,
     .control = out_fifo_control,
     .kind = "out",
     .needs = "canary"},
};

}  // namespace

Group given_attacks() { return {"files", kAttacks}; }

}  // namespace glovebox::attacks
