// Attacks on the guest's own credentials and limits: becoming root, raising what was lowered.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

Verdict become_root(const Args&) {
  return in_child([] { return by_result("setresuid 0", setresuid(0, 0, 0)); });
}

Verdict become_root_group(const Args&) {
  return in_child([] { return by_result("setresgid 0", setresgid(0, 0, 0)); });
}

Verdict root_groups(const Args&) {
  return in_child([] {
    const gid_t groups[] = {0};
    return by_result("setgroups 0", setgroups(1, groups));
  });
}

Verdict gain_capabilities(const Args&) {
  return in_child([] {
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    data[0].effective = data[0].permitted = 1U << CAP_SYS_ADMIN;
    return by_result("capset CAP_SYS_ADMIN", syscall(SYS_capset, &head, data));
  });
}

// Whatever capability is left, in any of the five sets, is one too many.
Verdict kept_capabilities(const Args&) {
  const std::string status = read_file("/proc/self/status");
  for (const char* set : {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"}) {
    const size_t at = status.find(set);
    if (at == std::string::npos) continue;
    if (strtoull(status.c_str() + at + strlen(set), nullptr, 16) != 0) {
      return succeeded(std::string(set) + " is not empty");
    }
  }
  return denied("all five sets are empty");
}

Verdict keep_privileges_on_exec(const Args&) {
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return denied("no_new_privs is set");
  return succeeded("no_new_privs is not set");
}

// A host setuid program, watched while it waits for input it never gets.
Verdict run_setuid_program(const Args&) {
  int seen = 0;
  for (const char* program : {"/usr/bin/su", "/usr/bin/newgrp", "/usr/bin/passwd", "/usr/bin/chsh",
                              "/usr/bin/gpasswd", "/usr/bin/mount"}) {
    struct stat info {};
    if (stat(program, &info) != 0 || (info.st_mode & S_ISUID) == 0) continue;
    ++seen;
    int input[2];
    if (pipe(input) != 0) return not_tried("pipe");
    const pid_t child = fork();
    if (child == 0) {
      dup2(input[0], 0);
      close(input[1]);
      const int null = open("/dev/null", O_RDWR);
      dup2(null, 1);
      dup2(null, 2);
      execl(program, program, static_cast<char*>(nullptr));
      _exit(127);
    }
    close(input[0]);
    bool root = false;
    for (int round = 0; round < 300 && !root; ++round) {
      const std::string status = read_file("/proc/" + std::to_string(child) + "/status");
      const size_t at = status.find("Uid:");
      unsigned real = 1, effective = 1;
      if (at != std::string::npos) sscanf(status.c_str() + at, "Uid: %u %u", &real, &effective);
      root = real != 0 && effective == 0;
      if (waitpid(child, nullptr, WNOHANG) == child) break;
      usleep(1000);
    }
    close(input[1]);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (root) return succeeded(std::string(program) + " ran with effective uid 0");
  }
  return denied(std::to_string(seen) + " setuid programs in /usr, none ran as root");
}
Verdict run_setuid_program_control(const Args& args) {
  return in_child([&] {
    if (!become_nobody()) return not_tried("drop");
    return run_setuid_program(args);
  });
}

Verdict raise_limits(const Args& args) {
  int tried = 0;
  for (const int which : {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NPROC, RLIMIT_MEMLOCK,
                          RLIMIT_NOFILE, RLIMIT_CORE, RLIMIT_NICE, RLIMIT_RTPRIO}) {
    const auto resource = static_cast<__rlimit_resource>(which);
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) continue;
    ++tried;
    if (args.get("below").empty()) limit.rlim_cur = limit.rlim_max;
    limit.rlim_cur += 1;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_max = limit.rlim_cur;
    if (setrlimit(resource, &limit) == 0) return succeeded("raised limit " + std::to_string(which));
  }
  return denied(std::to_string(tried) + " hard limits, none could be raised", EPERM);
}
// Even a container's root may lack the right to raise hard limits, so the control starts below
// them: that is where nothing stands in the way.
Verdict raise_limits_control(const Args& args) {
  return in_child([&] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    if (limit.rlim_max == RLIM_INFINITY) limit.rlim_max = 4096;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return not_tried("setrlimit");
    return raise_limits(args.with("below", "yes"));
  });
}

// A score that was lowered for the agent and raised again without the right to do so could be
// lowered once more by the guest.
Verdict oom_exempt(const Args& args) {
  return in_child([&] {
    const std::string score = args.get("score", "-1000");
    if (!write_file("/proc/self/oom_score_adj", score)) {
      return denied_by_errno("oom_score_adj " + score, errno);
    }
    return succeeded("the OOM killer will look elsewhere first");
  });
}
Verdict oom_exempt_control(const Args& args) {
  return in_child([&] {
    if (!write_file("/proc/self/oom_score_adj", "500")) return not_tried("raise the score");
    return oom_exempt(args.with("score", "400"));
  });
}

Verdict realtime(const Args&) {
  return in_child([] {
    sched_param parameter{};
    parameter.sched_priority = 1;
    return by_result("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &parameter));
  });
}

Verdict higher_priority(const Args&) {
  return in_child([] { return by_result("nice -20", setpriority(PRIO_PROCESS, 0, -20)); });
}

Verdict io_priority(const Args&) {
  // Class 1 is real-time: before all other reads and writes.
  return in_child(
      [] { return by_result("ioprio real-time", syscall(SYS_ioprio_set, 1, 0, 1 << 13)); });
}

Verdict lock_memory(const Args&) {
  return in_child([] {
    const size_t size = 64UL << 20;
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return not_tried("mmap");
    return by_result("mlock of 64 MiB", mlock(memory, size));
  });
}

Verdict map_zero(const Args&) {
  void* zero =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return by_result("mapping address 0", zero == MAP_FAILED ? -1 : 0);
}

Verdict weaker_layout(const Args&) {
  return in_child(
      [] { return by_result("personality ADDR_NO_RANDOMIZE", personality(ADDR_NO_RANDOMIZE)); });
}

Verdict executable_reads(const Args&) {
  return in_child(
      [] { return by_result("personality READ_IMPLIES_EXEC", personality(READ_IMPLIES_EXEC)); });
}

// A crash whose core is written by the kernel, or worse piped to a program on the host.
Verdict core_dump(const Args&) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{};
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
    abort();
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return not_tried("fork");
  if (!WIFSIGNALED(status)) return not_tried("the child did not crash");
  if (WCOREDUMP(status)) return succeeded("the kernel dumped core");
  return denied("no core was dumped");
}
Verdict core_dump_control(const Args& args) {
  return in_scratch([&](const std::string&) {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_CORE, &all) != 0) return not_tried("setrlimit");
    return core_dump(args);
  });
}

const char* const kNoCaps = "no capabilities";
const Attack kAttacks[] = {
    {.name = "privilege_setuid_root", .aims_at = "uid 0", .held_by = kNoCaps, .run = become_root},
    {.name = "privilege_setgid_root",
     .aims_at = "gid 0",
     .held_by = kNoCaps,
     .run = become_root_group},
    {.name = "privilege_setgroups",
     .aims_at = "root's group as a supplementary one",
     .held_by = kNoCaps,
     .run = root_groups},
    {.name = "privilege_capset",
     .aims_at = "CAP_SYS_ADMIN",
     .held_by = kNoCaps,
     .run = gain_capabilities},
    {.name = "privilege_kept_capabilities",
     .aims_at = "a capability left in any set",
     .held_by = "empty bounding set",
     .run = kept_capabilities},
    {.name = "privilege_new_on_exec",
     .aims_at = "privileges from a program file",
     .held_by = "no_new_privs",
     .run = keep_privileges_on_exec},
    {.name = "privilege_setuid_program",
     .aims_at = "root by a setuid program of /usr",
     .held_by = "no_new_privs, nosuid",
     .run = run_setuid_program,
     .control = run_setuid_program_control},
    {.name = "privilege_raise_limits",
     .aims_at = "higher resource limits",
     .held_by = "hard limits, no capabilities",
     .run = raise_limits,
     .control = raise_limits_control},
    {.name = "privilege_oom_exempt",
     .aims_at = "never being picked by the OOM killer",
     .held_by = kNoCaps,
     .run = oom_exempt,
     .control = oom_exempt_control},
    {.name = "privilege_realtime",
     .aims_at = "real-time scheduling",
     .held_by = kNoCaps,
     .run = realtime},
    {.name = "privilege_nice",
     .aims_at = "a higher priority than all other processes",
     .held_by = kNoCaps,
     .run = higher_priority},
    {.name = "privilege_io_priority",
     .aims_at = "real-time disk priority",
     .held_by = "no capabilities, seccomp",
     .run = io_priority},
    {.name = "privilege_lock_memory",
     .aims_at = "64 MiB that can never be reclaimed",
     .held_by = "rlimit",
     .run = lock_memory},
    {.name = "privilege_map_zero",
     .aims_at = "a mapping at address 0",
     .held_by = kNoCaps,
     .run = map_zero},
    {.name = "privilege_fixed_layout",
     .aims_at = "programs without address randomisation",
     .held_by = "seccomp",
     .run = weaker_layout},
    {.name = "privilege_executable_reads",
     .aims_at = "readable memory made executable",
     .held_by = "seccomp",
     .run = executable_reads},
    {.name = "privilege_core_dump",
     .aims_at = "the host's core dump handler",
     .held_by = "rlimit",
     .run = core_dump,
     .control = core_dump_control},
};

}  // namespace

Group privilege_attacks() { return {"processes", kAttacks}; }

}  // namespace glovebox::attacks
