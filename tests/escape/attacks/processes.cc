// Attacks on other processes: the host's, the agent (PID 1), and those that pass through.
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

// In the sandbox PID 1 is the agent. The control makes a pid namespace whose PID 1 is like us.
template <Step kRun>
Verdict against_plain_init(const Args& args) {
  return beside_init([&] { return kRun(args); });
}

Verdict victim_visible(const Args&) {
  const auto pids = pids_with_cmdline("glovebox-attacks victim");
  if (pids.empty()) return denied("the host's process is not in /proc", ENOENT);
  return succeeded("saw a host process as pid " + std::to_string(pids.front()));
}

int victim_pid(const Args& args) { return static_cast<int>(args.number("pid", 0)); }

Verdict victim_kill(const Args& args) {
  const int pid = victim_pid(args);
  if (pid < 20) return not_tried("no pid that could not be one of the sandbox's own");
  // Signal 0 asks for permission and sends nothing.
  return by_result("kill(victim, 0)", kill(pid, 0));
}

Verdict victim_ptrace(const Args& args) {
  const int pid = victim_pid(args);
  if (pid < 20) return not_tried("no pid");
  return in_child([&] { return by_result("seize victim", ptrace(PTRACE_SEIZE, pid, 0, 0)); });
}

Verdict victim_pidfd(const Args& args) {
  const int pid = victim_pid(args);
  if (pid < 20) return not_tried("no pid");
  return by_result("pidfd_open victim", syscall(SYS_pidfd_open, pid, 0));
}

// The group of every process there is; inside it must not reach beyond the namespace.
Verdict victim_group(const Args& args) {
  const int pid = victim_pid(args);
  if (pid < 20) return not_tried("no pid");
  return by_result("getpgid(victim)", getpgid(pid));
}

Verdict agent_ptrace(const Args&) {
  return in_child([] { return by_result("seize PID 1", ptrace(PTRACE_SEIZE, 1, 0, 0)); });
}

// A tracee that stops at its exit outlives every SIGKILL until its tracer lets it go; two that
// trace each other would never die. Here the tracer lets go.
Verdict hold_at_exit(const Args&) {
  return in_child([] {
    const pid_t held = fork();
    if (held == 0) {
      pause();
      _exit(0);
    }
    const Verdict verdict =
        by_result("seize to hold at exit", ptrace(PTRACE_SEIZE, held, 0, PTRACE_O_TRACEEXIT));
    kill(held, SIGKILL);
    int status = 0;
    while (waitpid(held, &status, 0) == held && WIFSTOPPED(status)) ptrace(PTRACE_CONT, held, 0, 0);
    return verdict;
  });
}

Verdict agent_read_memory(const Args&) {
  char byte = 0;
  iovec local{&byte, 1};
  iovec remote{reinterpret_cast<void*>(0x400000), 1};
  // EFAULT comes after the permission check: the address was wrong, the right was there.
  return by_reach("process_vm_readv PID 1", process_vm_readv(1, &local, 1, &remote, 1, 0));
}

Verdict agent_write_memory(const Args&) {
  char byte = 0;
  iovec local{&byte, 1};
  iovec remote{nullptr, 1};
  return by_reach("process_vm_writev PID 1", process_vm_writev(1, &local, 1, &remote, 1, 0));
}

Verdict agent_mem(const Args&) { return by_open("/proc/1/mem", O_RDWR); }
Verdict agent_maps(const Args&) { return by_open("/proc/1/maps", O_RDONLY); }

Verdict agent_environ(const Args&) {
  const int fd = open("/proc/1/environ", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return denied_by_errno("open /proc/1/environ", errno);
  char byte;
  const ssize_t count = read(fd, &byte, 1);
  if (count < 0) return denied_by_errno("read /proc/1/environ", errno);
  if (count == 0) return denied("PID 1's environment is empty");
  return succeeded("read PID 1's environment");
}

Verdict agent_descriptors(const Args&) {
  const auto names = list_dir("/proc/1/fd");
  if (names.empty()) return denied_by_errno("list /proc/1/fd", errno == 0 ? ENOENT : errno);
  return succeeded("PID 1 has " + std::to_string(names.size()) + " descriptors");
}

int pidfd_of_init() { return static_cast<int>(syscall(SYS_pidfd_open, 1, 0)); }

Verdict agent_steal_descriptor(const Args&) {
  const int pidfd = pidfd_of_init();
  if (pidfd < 0) return denied_by_errno("pidfd_open 1", errno);
  return by_reach("pidfd_getfd of PID 1", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

Verdict agent_compare(const Args&) {
  return by_reach("kcmp with PID 1", syscall(SYS_kcmp, 1, getpid(), KCMP_FILES, 0, 0));
}

Verdict agent_madvise(const Args&) {
  const int pidfd = pidfd_of_init();
  if (pidfd < 0) return denied_by_errno("pidfd_open 1", errno);
  iovec range{reinterpret_cast<void*>(0x400000), 4096};
  return by_reach("process_madvise PID 1",
                  syscall(SYS_process_madvise, pidfd, &range, 1, MADV_COLD, 0));
}

Verdict agent_migrate(const Args&) {
  unsigned long nodes = 1;
  return by_reach("migrate_pages of PID 1", syscall(SYS_migrate_pages, 1, 8, &nodes, &nodes));
}

Verdict agent_kill(const Args&) { return by_result("kill(1, 0)", kill(1, 0)); }

Verdict agent_signal_by_pidfd(const Args&) {
  const int pidfd = pidfd_of_init();
  if (pidfd < 0) return denied_by_errno("pidfd_open 1", errno);
  return by_result("pidfd_send_signal PID 1", syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0));
}

Verdict agent_limits(const Args&) {
  rlimit limit{};
  return by_result("prlimit of PID 1", prlimit(1, RLIMIT_NOFILE, nullptr, &limit));
}

Verdict agent_priority(const Args&) {
  const int now = getpriority(PRIO_PROCESS, 1);
  return by_result("setpriority of PID 1", setpriority(PRIO_PROCESS, 1, now));
}

Verdict agent_affinity(const Args&) {
  cpu_set_t cpus;
  if (sched_getaffinity(1, sizeof cpus, &cpus) != 0) return denied_by_errno("getaffinity", errno);
  return by_result("sched_setaffinity of PID 1", sched_setaffinity(1, sizeof cpus, &cpus));
}

Verdict agent_oom_score(const Args&) { return by_open("/proc/1/oom_score_adj", O_WRONLY); }

// A process that enters the sandbox (a helper of the agent, a joining interpreter) may for a moment
// be dumpable and still hold something of the outside. Waits beside it and tries every process.
Verdict catch_passer_by(const Args& args) {
  const long millis = args.number("millis", 300);
  timespec start{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  int met = 0;
  for (;;) {
    for (const int pid : visible_pids()) {
      if (pid == getpid() || pid == 1) continue;
      ++met;
      const std::string base = "/proc/" + std::to_string(pid);
      const Verdict root = read_canary(AT_FDCWD, base + "/root" + args.get("canary"));
      if (root.code == kSucceeded)
        return succeeded("caught pid " + std::to_string(pid) + ": " + root.text);
      if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0) {
        return succeeded("seized pid " + std::to_string(pid) + ", which is not ours");
      }
    }
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long passed =
        (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000;
    if (passed > millis) break;
  }
  return denied(met == 0 ? "no process came by" : std::to_string(met) + " looks, none caught");
}

// A careless join: a process of the host enters the pid namespace with its old root and dumpable.
Verdict catch_passer_by_control(const Args& args) {
  return in_scratch([&](const std::string& dir) {
    int ready[2], go[2];
    if (pipe(ready) != 0 || pipe(go) != 0) return not_tried("pipe");
    return in_child([&]() -> Verdict {
      if (unshare(CLONE_NEWPID) != 0) return not_tried("unshare pid");
      int ends[2];
      if (pipe(ends) != 0) return not_tried("pipe");
      const pid_t init = fork();
      if (init == 0) {
        // PID 1, confined to the scratch directory; its child is the attacker.
        const std::string proc = dir + "/proc";
        mkdir(proc.c_str(), 0755);
        if (mount("proc", proc.c_str(), "proc", 0, nullptr) != 0 || chroot(dir.c_str()) != 0 ||
            chdir("/") != 0) {
          _exit(1);
        }
        const Verdict verdict = in_child([&] {
          (void)!write(ready[1], "r", 1);
          return catch_passer_by(args.with("millis", "5000"));
        });
        const std::string line = std::to_string(verdict.code) + " " + verdict.text;
        (void)!write(ends[1], line.data(), line.size());
        _exit(0);
      }
      char byte;
      if (read(ready[0], &byte, 1) != 1) return not_tried("no attacker");
      // Every later child of ours lands in that pid namespace, with the host's root.
      const pid_t joiner = fork();
      if (joiner == 0) {
        (void)!read(go[0], &byte, 1);
        _exit(0);
      }
      char line[512] = {};
      const ssize_t count = read(ends[0], line, sizeof line - 1);
      kill(joiner, SIGKILL);
      waitpid(joiner, nullptr, 0);
      waitpid(init, nullptr, 0);
      if (count <= 0) return not_tried("no word from the attacker");
      return {atoi(line), line + 3, 0};
    });
  });
}

const char* const kPidNamespace = "pid namespace";
const char* const kAgent = "agent has another uid and is not dumpable";
const Attack kAttacks[] = {
    {.name = "process_host_visible",
     .aims_at = "the host's processes in /proc",
     .held_by = kPidNamespace,
     .run = victim_visible,
     .needs = "pid"},
    {.name = "process_host_kill",
     .aims_at = "a signal to a host process",
     .held_by = kPidNamespace,
     .run = victim_kill,
     .needs = "pid"},
    {.name = "process_host_ptrace",
     .aims_at = "tracing a host process",
     .held_by = kPidNamespace,
     .run = victim_ptrace,
     .needs = "pid"},
    {.name = "process_host_pidfd",
     .aims_at = "a handle of a host process",
     .held_by = kPidNamespace,
     .run = victim_pidfd,
     .needs = "pid"},
    {.name = "process_host_group",
     .aims_at = "the process group of a host process",
     .held_by = kPidNamespace,
     .run = victim_group,
     .needs = "pid"},
    {.name = "agent_ptrace",
     .aims_at = "tracing the agent",
     .held_by = kAgent,
     .run = agent_ptrace,
     .control = against_plain_init<agent_ptrace>},
    {.name = "survivor_held_at_exit",
     .aims_at = "outliving SIGKILL in a tracer's stop at exit",
     .held_by = "ptrace that holds a process at its exit is refused (seccomp)",
     .run = hold_at_exit},
    {.name = "agent_read_memory",
     .aims_at = "the agent's memory by process_vm_readv",
     .held_by = kAgent,
     .run = agent_read_memory,
     .control = against_plain_init<agent_read_memory>},
    {.name = "agent_write_memory",
     .aims_at = "the agent's memory by process_vm_writev",
     .held_by = kAgent,
     .run = agent_write_memory,
     .control = against_plain_init<agent_write_memory>},
    {.name = "agent_proc_mem",
     .aims_at = "the agent's memory by /proc/1/mem",
     .held_by = kAgent,
     .run = agent_mem,
     .control = against_plain_init<agent_mem>},
    {.name = "agent_proc_maps",
     .aims_at = "the agent's address layout",
     .held_by = kAgent,
     .run = agent_maps,
     .control = against_plain_init<agent_maps>},
    {.name = "agent_environ",
     .aims_at = "the agent's environment",
     .held_by = kAgent,
     .run = agent_environ,
     .control = against_plain_init<agent_environ>},
    {.name = "agent_descriptors",
     .aims_at = "the agent's descriptors in /proc",
     .held_by = kAgent,
     .run = agent_descriptors,
     .control = against_plain_init<agent_descriptors>},
    {.name = "agent_steal_descriptor",
     .aims_at = "the agent's descriptors by pidfd_getfd",
     .held_by = kAgent,
     .run = agent_steal_descriptor,
     .control = against_plain_init<agent_steal_descriptor>},
    {.name = "agent_kcmp",
     .aims_at = "the agent's kernel objects",
     .held_by = kAgent,
     .run = agent_compare,
     .control = against_plain_init<agent_compare>},
    {.name = "agent_madvise",
     .aims_at = "pushing the agent's memory out",
     .held_by = kAgent,
     .run = agent_madvise,
     .control = against_plain_init<agent_madvise>},
    {.name = "agent_migrate_pages",
     .aims_at = "moving the agent's memory",
     .held_by = kAgent,
     .run = agent_migrate,
     .control = against_plain_init<agent_migrate>},
    {.name = "agent_kill",
     .aims_at = "a signal to the agent",
     .held_by = kAgent,
     .run = agent_kill,
     .control = against_plain_init<agent_kill>},
    {.name = "agent_pidfd_signal",
     .aims_at = "a signal to the agent by pidfd",
     .held_by = kAgent,
     .run = agent_signal_by_pidfd,
     .control = against_plain_init<agent_signal_by_pidfd>},
    {.name = "agent_limits",
     .aims_at = "the agent's resource limits",
     .held_by = kAgent,
     .run = agent_limits,
     .control = against_plain_init<agent_limits>},
    {.name = "agent_priority",
     .aims_at = "the agent's priority",
     .held_by = kAgent,
     .run = agent_priority,
     .control = against_plain_init<agent_priority>},
    {.name = "agent_affinity",
     .aims_at = "the agent's processors",
     .held_by = kAgent,
     .run = agent_affinity,
     .control = against_plain_init<agent_affinity>},
    {.name = "agent_oom_score",
     .aims_at = "having the agent killed first",
     .held_by = kAgent,
     .run = agent_oom_score,
     .control = against_plain_init<agent_oom_score>},
    {.name = "process_joining",
     .aims_at = "a process on its way into the sandbox",
     .held_by = "no process joins while dumpable",
     .run = catch_passer_by,
     .control = catch_passer_by_control,
     .needs = "canary"},
};

}  // namespace

Group process_attacks() { return {"processes", kAttacks}; }

}  // namespace glovebox::attacks
