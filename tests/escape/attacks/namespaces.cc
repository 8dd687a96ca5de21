// Attacks by new namespaces, which would give back capabilities, and by entering those of others;
// and on the filters that forbid them.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

template <int kFlags>
Verdict unshare_one(const Args&) {
  return in_child([] { return by_result("unshare", unshare(kFlags)); });
}

Verdict clone_user(const Args&) {
  return in_child([] {
    const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0);
    if (child == 0) _exit(0);
    if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
    return by_result("clone CLONE_NEWUSER", child);
  });
}

Verdict clone3_user(const Args&) {
  return in_child([] {
    clone_args args{};
    args.flags = CLONE_NEWUSER;
    args.exit_signal = SIGCHLD;
    const long child = syscall(SYS_clone3, &args, sizeof args);
    if (child == 0) _exit(0);
    if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
    return by_result("clone3 CLONE_NEWUSER", child);
  });
}

template <Step kRun>
Verdict beside_plain_init(const Args& args) {
  return beside_init([&] { return kRun(args); });
}

Verdict enter_init(const Args&) {
  return in_child([] {
    Verdict last = denied("nothing to enter", ENOENT);
    for (const char* name : {"mnt", "net", "uts", "ipc", "cgroup"}) {
      const std::string path = std::string("/proc/1/ns/") + name;
      const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0) {
        last = denied_by_errno("open " + path, errno);
        continue;
      }
      last = by_result(std::string("setns ") + name, setns(fd, 0));
      close(fd);
      if (last.code == kSucceeded) return last;
    }
    return last;
  });
}

Verdict enter_by_pidfd(const Args&) {
  return in_child([] {
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, 1, 0));
    if (pidfd < 0) return denied_by_errno("pidfd_open 1", errno);
    return by_result("setns by pidfd", setns(pidfd, CLONE_NEWUTS));
  });
}

// The namespace that owns ours, asked for by ioctl.
Verdict parent_namespace(const Args&) {
  const int fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return denied_by_errno("open", errno);
  return by_result("NS_GET_PARENT", syscall(SYS_ioctl, fd, 0xb702));
}
Verdict parent_namespace_control(const Args&) {
  return in_child([] {
    // Seen from above, the parent of a child's pid namespace is ours, and is given out.
    if (unshare(CLONE_NEWPID) != 0) return not_tried("unshare pid");
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    const int fd =
        open(("/proc/" + std::to_string(child) + "/ns/pid").c_str(), O_RDONLY | O_CLOEXEC);
    const Verdict verdict = by_result("NS_GET_PARENT", syscall(SYS_ioctl, fd, 0xb702));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return verdict;
  });
}

Verdict map_users(const Args&) { return by_open("/proc/1/uid_map", O_WRONLY); }
Verdict map_users_control(const Args& args) {
  return beside_init([&] { return map_users(args); });
}

sock_fprog allow_everything() {
  static sock_filter instructions[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  return {1, instructions};
}

// A later filter that allows everything must not loosen an earlier one.
Verdict override_filter(const Args&) {
  return in_child([] {
    const sock_fprog program = allow_everything();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
      return denied_by_errno("seccomp", errno);
    }
    return by_result("unshare user after a filter that allows all", unshare(CLONE_NEWUSER));
  });
}

Verdict filter_listener(const Args&) {
  return in_child([] {
    const sock_fprog program = allow_everything();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return by_result("a seccomp listener", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                                   SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
  });
}

// A later Landlock domain that grants everything must not loosen an earlier one, nor open /usr.
Verdict override_landlock(const Args&) {
  return in_child([] {
    landlock_ruleset_attr rules{};
    rules.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE;
    const int ruleset =
        static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0));
    if (ruleset >= 0) {
      landlock_path_beneath_attr beneath{};
      beneath.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE;
      beneath.parent_fd = open("/", O_PATH | O_CLOEXEC);
      syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      syscall(SYS_landlock_restrict_self, ruleset, 0);
    } else if (errno == ENOSYS || errno == EOPNOTSUPP) {
      return denied("no Landlock to play with", ENOSYS);
    }
    return by_open("/usr/lib/os-release", O_WRONLY);
  });
}

const char* const kNoNamespaces = "seccomp";
const Attack kAttacks[] = {
    {.name = "namespace_unshare_user",
     .aims_at = "capabilities in a new user namespace",
     .held_by = "seccomp, quota of 0",
     .run = unshare_one<CLONE_NEWUSER>},
    {.name = "namespace_unshare_mount",
     .aims_at = "a mount namespace of our own",
     .held_by = kNoNamespaces,
     .run = unshare_one<CLONE_NEWNS>},
    {.name = "namespace_unshare_net",
     .aims_at = "a network namespace of our own",
     .held_by = kNoNamespaces,
     .run = unshare_one<CLONE_NEWNET>},
    {.name = "namespace_unshare_pid",
     .aims_at = "a pid namespace of our own",
     .held_by = kNoNamespaces,
     .run = unshare_one<CLONE_NEWPID>},
    {.name = "namespace_unshare_cgroup",
     .aims_at = "a cgroup namespace of our own",
     .held_by = kNoNamespaces,
     .run = unshare_one<CLONE_NEWCGROUP>},
    {.name = "namespace_clone_user",
     .aims_at = "a user namespace by clone",
     .held_by = "seccomp, quota of 0",
     .run = clone_user},
    {.name = "namespace_clone3_user",
     .aims_at = "a user namespace by clone3",
     .held_by = "seccomp, quota of 0",
     .run = clone3_user},
    {.name = "namespace_enter_init",
     .aims_at = "the namespaces of PID 1",
     .held_by = "agent is not ours to look into",
     .run = enter_init,
     .control = beside_plain_init<enter_init>},
    {.name = "namespace_enter_by_pidfd",
     .aims_at = "the namespaces of PID 1 by pidfd",
     .held_by = "seccomp, no capabilities",
     .run = enter_by_pidfd,
     .control = beside_plain_init<enter_by_pidfd>},
    {.name = "namespace_parent",
     .aims_at = "the namespace above ours",
     .held_by = "user namespace",
     .run = parent_namespace,
     .control = parent_namespace_control},
    {.name = "namespace_map_users",
     .aims_at = "another mapping of users",
     .held_by = "user namespace",
     .run = map_users,
     .control = map_users_control},
    {.name = "namespace_override_filter",
     .aims_at = "undoing seccomp by a second filter",
     .held_by = "seccomp",
     .run = override_filter},
    {.name = "namespace_filter_listener",
     .aims_at = "answering other processes' system calls",
     .held_by = "seccomp",
     .run = filter_listener},
    {.name = "namespace_override_landlock",
     .aims_at = "undoing Landlock by a second domain",
     .held_by = "Landlock, read-only layer",
     .run = override_landlock},
};

}  // namespace

Group namespace_attacks() { return {"kernel", kAttacks}; }

}  // namespace glovebox::attacks
