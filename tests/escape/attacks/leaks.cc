// Attacks that only look: what a sandbox may learn about the caller, the host, the kernel and its
// neighbours. The last need two sandboxes at once: step=exhaust plants, step=check looks.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "toolbox.h"

extern char** environ;

namespace glovebox::attacks {
namespace {

constexpr const char* kEnvName = "GBX_ENV_CANARY=";

Verdict callers_environment(const Args&) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (strncmp(*entry, kEnvName, strlen(kEnvName)) == 0) return succeeded("it is in our own");
  }
  int looked = 0;
  for (const int pid : visible_pids()) {
    ++looked;
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/environ");
    if (text.find(kEnvName) != std::string::npos) {
      return succeeded("it is in that of pid " + std::to_string(pid));
    }
  }
  return denied("not in the environment of any of " + std::to_string(looked) + " processes");
}

// The runner's `--file host:guest` is in the caller's command line, with the path on the host.
Verdict callers_arguments(const Args&) {
  for (const int pid : pids_with_cmdline(":/home/user/a")) {
    return succeeded("it is that of pid " + std::to_string(pid));
  }
  return denied("no process shows the caller's command line");
}
Verdict callers_arguments_control(const Args& args) {
  return in_child([&] {
    int ends[2];
    if (pipe(ends) != 0) return not_tried("pipe");
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[0], 0);
      close(ends[1]);
      execl("/proc/self/exe", "glovebox-attacks", "victim", "--file", "x:/home/user/a",
            static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[0]);
    Verdict verdict;
    for (int round = 0; round < 1000; ++round) {
      verdict = callers_arguments(args);
      if (verdict.code == kSucceeded) break;
      usleep(1000);
    }
    close(ends[1]);
    waitpid(child, nullptr, 0);
    return verdict;
  });
}

Verdict host_name(const Args& args) {
  const std::string wanted = args.get("hostname");
  if (wanted.empty()) return not_tried("no host name given");
  utsname names{};
  uname(&names);
  const std::string files[] = {names.nodename, read_file("/proc/sys/kernel/hostname"),
                               read_file("/etc/hostname")};
  for (std::string name : files) {
    while (!name.empty() && name.back() == '\n') name.pop_back();
    if (name == wanted) return succeeded("we are told the host's name");
  }
  if (read_file("/etc/hosts").find("\t" + wanted) != std::string::npos) {
    return succeeded("/etc/hosts tells the host's name");
  }
  return denied("it is not ours, nor in /etc");
}

Verdict cgroup_path(const Args&) {
  std::istringstream lines(read_file("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.rfind(':');
    if (at != std::string::npos && line.substr(at + 1) != "/") return succeeded(line);
  }
  return denied("every path is /");
}
Verdict cgroup_path_control(const Args& args) {
  return in_cgroup({}, [&] { return cgroup_path(args); });
}

// Sources and options of mounts tell disks and directories of the host.
Verdict host_mounts(const Args&) {
  const std::string text = read_file("/proc/self/mountinfo");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::string tail = line.substr(dash);
    if (tail.find(" /dev/") != std::string::npos) return succeeded("mountinfo tells" + tail);
    // Layers that are attached nowhere are called "/" or by one name below it; a longer name is one
    // of the host's.
    for (size_t at = tail.find("dir"); at != std::string::npos; at = tail.find("dir", at + 1)) {
      const size_t value = tail.find('=', at);
      if (value == std::string::npos) break;
      const std::string path = tail.substr(value + 1, tail.find_first_of(",:", value) - value - 1);
      if (path.rfind('/', 0) == 0 && path.find('/', 1) != std::string::npos) {
        return succeeded("mountinfo tells" + tail);
      }
    }
    if (line.find("glovebox-") != std::string::npos) return succeeded("mountinfo tells " + line);
  }
  return denied("mountinfo names no disk and no directory of the host");
}

// Options of mounts tell owners by their numbers on the host; inside none is above 65535.
Verdict host_uids(const Args&) {
  std::istringstream lines(read_file("/proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    for (const char* option : {",uid=", ",gid="}) {
      const size_t at = line.find(option);
      if (at != std::string::npos && strtoul(line.c_str() + at + 5, nullptr, 10) > 65535) {
        return succeeded("mountinfo tells" + line.substr(line.rfind(" - ")));
      }
    }
  }
  return denied("mountinfo shows no uid of the host");
}
Verdict host_uids_control(const Args& args) {
  return in_scratch([&](const std::string&) { return host_uids(args); },
                    "size=64k,uid=" + std::to_string(kNobodysUid));
}

Verdict boot_id(const Args& args) {
  const std::string wanted = args.get("boot_id");
  if (wanted.empty()) return not_tried("no boot id given");
  const std::string seen = read_file("/proc/sys/kernel/random/boot_id");
  if (seen.rfind(wanted, 0) == 0) return succeeded("we are told the host's boot id");
  return denied("it is another: " + seen.substr(0, 36));
}

Verdict not_empty(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return denied_by_errno(std::string("open ") + path, errno);
  char byte;
  const ssize_t count = read(fd, &byte, 1);
  const int err = errno;
  close(fd);
  if (count < 0) return denied_by_errno(std::string("read ") + path, err);
  if (count == 0) return denied(std::string(path) + " is empty");
  return succeeded(std::string("read ") + path);
}

Verdict host_disks(const Args&) {
  for (const char* path : {"/proc/partitions", "/proc/diskstats"}) {
    // Beyond the heading there is at least one line with a number for each disk.
    if (read_file(path).find_first_of("0123456789") != std::string::npos) {
      return succeeded(std::string(path) + " names the host's disks");
    }
  }
  return denied("no disk is named");
}

Verdict kernel_symbols(const Args&) {
  std::istringstream lines(read_file("/proc/kallsyms", 65536));
  for (std::string address; lines >> address;) {
    if (address.find_first_not_of('0') != std::string::npos) {
      return succeeded("/proc/kallsyms shows addresses");
    }
    std::getline(lines, address);
  }
  return denied("no addresses in /proc/kallsyms", access("/proc/kallsyms", F_OK) == 0 ? 0 : ENOENT);
}

Verdict module_addresses(const Args&) {
  if (access("/proc/modules", F_OK) != 0) return denied_by_errno("/proc/modules", errno);
  std::istringstream lines(read_file("/proc/modules"));
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.rfind(" 0x");
    if (at != std::string::npos && strtoull(line.c_str() + at + 3, nullptr, 16) != 0) {
      return succeeded("/proc/modules shows addresses");
    }
  }
  return denied("no addresses in /proc/modules", ENOENT);
}

Verdict physical_addresses(const Args&) {
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return denied_by_errno("open /proc/self/pagemap", errno);
  const auto page = reinterpret_cast<unsigned long>(&fd) / 4096;
  unsigned long entry = 0;
  if (pread(fd, &entry, sizeof entry, static_cast<off_t>(page * 8)) != sizeof entry) {
    return denied_by_errno("read pagemap", errno);
  }
  if ((entry & ((1UL << 55) - 1)) == 0) return denied("page frame numbers are hidden");
  return succeeded("pagemap tells physical addresses");
}

Verdict keys_listed(const Args&) { return not_empty("/proc/keys"); }
Verdict keys_listed_control(const Args& args) {
  return in_child([&] {
    if (syscall(SYS_keyctl, 1 /* join session keyring */, nullptr) < 0) {
      return denied_by_errno("keyctl", errno);
    }
    return keys_listed(args);
  });
}
Verdict kcore(const Args&) { return by_open("/proc/kcore", O_RDONLY); }
Verdict proc_kmsg(const Args&) { return by_open("/proc/kmsg", O_RDONLY); }
Verdict timer_list(const Args&) { return not_empty("/proc/timer_list"); }
Verdict boot_line(const Args&) { return not_empty("/proc/cmdline"); }
Verdict slab_info(const Args&) { return not_empty("/proc/slabinfo"); }
Verdict vmalloc_info(const Args&) { return not_empty("/proc/vmallocinfo"); }
Verdict page_counts(const Args&) { return by_open("/proc/kpagecount", O_RDONLY); }
Verdict io_memory(const Args&) {
  std::istringstream lines(read_file("/proc/iomem"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("System RAM") != std::string::npos && line.find("00000000-00000000") != 0) {
      return succeeded("/proc/iomem shows addresses");
    }
  }
  return denied("no addresses in /proc/iomem");
}
Verdict interrupts_listed(const Args&) { return not_empty("/proc/interrupts"); }
Verdict scheduler_keys(const Args&) { return not_empty("/proc/key-users"); }
Verdict kernel_stack(const Args&) { return not_empty("/proc/1/stack"); }
Verdict kernel_stack_control(const Args& args) {
  return beside_init([&] { return kernel_stack(args); });
}
Verdict own_kernel_stack(const Args&) { return not_empty("/proc/self/stack"); }

bool is_check(const Args& args) { return args.get("step") == "check"; }

std::vector<std::string> marked_paths(const Args& args) {
  const std::string token = args.get("token");
  return {"/tmp/gbx-" + token, "/dev/shm/gbx-" + token, "/home/user/gbx-" + token,
          "/var/tmp/gbx-" + token};
}
Verdict neighbour_files(const Args& args) {
  if (is_check(args)) {
    for (const std::string& path : marked_paths(args)) {
      if (access(path.c_str(), F_OK) == 0) return succeeded("the neighbour's " + path + " is here");
    }
    return denied("none of the neighbour's files is here");
  }
  for (const std::string& path : marked_paths(args)) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) close(fd);
  }
  const Verdict verdict = stay_until_checked("planted");
  for (const std::string& path : marked_paths(args)) unlink(path.c_str());
  return verdict;
}

Verdict neighbour_processes(const Args& args) {
  if (!is_check(args)) return stay_until_checked("planted");
  const auto pids = pids_with_cmdline("step=exhaust token=" + args.get("token"));
  if (pids.empty()) return denied("the neighbour's process is not in /proc");
  return succeeded("the neighbour's process is pid " + std::to_string(pids.front()));
}

Verdict neighbour_socket(const Args& args) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "gbx-" + args.get("token");
  memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (is_check(args)) {
    return by_result("connecting to the neighbour",
                     connect(fd, reinterpret_cast<sockaddr*>(&address), size));
  }
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd, 1) != 0) {
    return not_tried("listen");
  }
  return stay_until_checked("planted");
}

Verdict neighbour_shared_memory(const Args& args) {
  const auto key = static_cast<key_t>(strtoul(args.get("token").substr(0, 7).c_str(), nullptr, 16));
  if (is_check(args)) {
    return by_result("attaching the neighbour's memory", shmget(key, 0, 0));
  }
  const int id = shmget(key, 4096, IPC_CREAT | 0666);
  if (id < 0) return denied_by_errno("shmget", errno);
  const Verdict verdict = stay_until_checked("planted");
  shmctl(id, IPC_RMID, nullptr);
  return verdict;
}

// Landlock may refuse to open a queue that is there: then it was seen all the same.
bool queue_is_there(mqd_t queue) { return queue >= 0 || errno == EACCES; }
Verdict neighbour_queue(const Args& args) {
  const std::string name = "/gbx-" + args.get("token");
  if (is_check(args)) {
    if (!queue_is_there(mq_open(name.c_str(), O_RDONLY))) return denied_by_errno("mq_open", errno);
    return succeeded("the neighbour's queue is here");
  }
  mq_attr attributes{};
  attributes.mq_maxmsg = 1;
  attributes.mq_msgsize = 16;
  if (!queue_is_there(mq_open(name.c_str(), O_RDWR | O_CREAT, 0666, &attributes))) {
    return denied_by_errno("mq_open", errno);
  }
  const Verdict verdict = stay_until_checked("planted");
  mq_unlink(name.c_str());
  return verdict;
}

// Both steps outside, side by side with nothing between them.
Verdict outside(Step run, const char* name, const Args& args) {
  // Executed anew so that the step is in the command line, as it is in a sandbox.
  const std::string token = "token=" + args.get("token");
  return two_steps(
      [&] {
        execl("/proc/self/exe", "glovebox-attacks", name, "step=exhaust", token.c_str(),
              static_cast<char*>(nullptr));
        return not_tried("exec");
      },
      [&] { return run(args.with("step", "check")); });
}

#define GBX_NEIGHBOUR(NAME, AIM, HELD, RUN)                                                   \
  {                                                                                           \
    .name = NAME, .aims_at = AIM, .held_by = HELD, .run = RUN,                                \
    .control = [](const Args& args) { return outside(RUN, NAME, args); }, .kind = "neighbour" \
  }

const char* const kMasked = "masked /proc";
const Attack kAttacks[] = {
    {.name = "leak_environment",
     .aims_at = "the caller's environment",
     .held_by = "scrubbed environment, pid namespace",
     .run = callers_environment,
     .needs = "env"},
    {.name = "leak_arguments",
     .aims_at = "the caller's command line",
     .held_by = "pid namespace",
     .run = callers_arguments,
     .control = callers_arguments_control},
    {.name = "leak_host_name",
     .aims_at = "the host's name",
     .held_by = "uts namespace, own /etc",
     .run = host_name,
     .needs = "hostname"},
    {.name = "leak_cgroup_path",
     .aims_at = "the names of cgroups",
     .held_by = "cgroup namespace",
     .run = cgroup_path,
     .control = cgroup_path_control},
    {.name = "leak_host_mounts",
     .aims_at = "the host's disks and directories in mountinfo",
     .held_by = "mounts made from descriptors",
     .run = host_mounts},
    {.name = "leak_host_uids",
     .aims_at = "the host's uids in mountinfo",
     .held_by = "mounts made by the launcher",
     .run = host_uids,
     .control = host_uids_control},
    {.name = "leak_boot_id",
     .aims_at = "which sandboxes are on one host",
     .held_by = "a boot id of its own",
     .run = boot_id,
     .needs = "boot_id"},
    {.name = "leak_host_disks",
     .aims_at = "the names of the host's disks",
     .held_by = kMasked,
     .run = host_disks},
    {.name = "leak_kernel_symbols",
     .aims_at = "addresses of the kernel",
     .held_by = "masked /proc, no capabilities",
     .run = kernel_symbols,
     .absent = ENOENT},
    {.name = "leak_module_addresses",
     .aims_at = "addresses of modules",
     .held_by = kMasked,
     .run = module_addresses,
     .absent = ENOENT},
    {.name = "leak_physical_addresses",
     .aims_at = "physical addresses of our pages",
     .held_by = "no capabilities",
     .run = physical_addresses},
    {.name = "leak_keys",
     .aims_at = "keys that others can use",
     .held_by = kMasked,
     .run = keys_listed,
     .control = keys_listed_control,
     .absent = ENOENT},
    {.name = "leak_key_users",
     .aims_at = "who has keys",
     .held_by = kMasked,
     .run = scheduler_keys,
     .absent = ENOENT},
    {.name = "leak_kcore",
     .aims_at = "the kernel's memory",
     .held_by = kMasked,
     .run = kcore,
     .absent = ENOENT},
    {.name = "leak_proc_kmsg",
     .aims_at = "the kernel's log in /proc",
     .held_by = kMasked,
     .run = proc_kmsg,
     .absent = ENOENT},
    {.name = "leak_timer_list",
     .aims_at = "the kernel's timers",
     .held_by = kMasked,
     .run = timer_list,
     .absent = ENOENT},
    {.name = "leak_boot_line",
     .aims_at = "how the host was booted",
     .held_by = kMasked,
     .run = boot_line},
    {.name = "leak_slabs",
     .aims_at = "the kernel's object caches",
     .held_by = kMasked,
     .run = slab_info,
     .absent = ENOENT},
    {.name = "leak_vmalloc",
     .aims_at = "the kernel's mappings",
     .held_by = kMasked,
     .run = vmalloc_info,
     .absent = ENOENT},
    {.name = "leak_page_counts",
     .aims_at = "the state of physical pages",
     .held_by = kMasked,
     .run = page_counts,
     .absent = ENOENT},
    {.name = "leak_io_memory",
     .aims_at = "the physical memory map",
     .held_by = kMasked,
     .run = io_memory},
    {.name = "leak_interrupts",
     .aims_at = "the timing of devices",
     .held_by = kMasked,
     .run = interrupts_listed},
    {.name = "leak_agent_stack",
     .aims_at = "the agent's kernel stack",
     .held_by = "no capabilities",
     .run = kernel_stack,
     .control = kernel_stack_control,
     .absent = ENOENT},
    {.name = "leak_own_stack",
     .aims_at = "our own kernel stack",
     .held_by = "no capabilities",
     .run = own_kernel_stack,
     .absent = ENOENT},
    GBX_NEIGHBOUR("leak_neighbour_files", "files of another sandbox", "a root of its own",
                  neighbour_files),
    GBX_NEIGHBOUR("leak_neighbour_processes", "processes of another sandbox", "pid namespace",
                  neighbour_processes),
    GBX_NEIGHBOUR("leak_neighbour_socket", "an abstract socket of another sandbox",
                  "network namespace", neighbour_socket),
    GBX_NEIGHBOUR("leak_neighbour_memory", "shared memory of another sandbox", "ipc namespace",
                  neighbour_shared_memory),
    GBX_NEIGHBOUR("leak_neighbour_queue", "message queues of another sandbox", "ipc namespace",
                  neighbour_queue),
};
#undef GBX_NEIGHBOUR

}  // namespace

Group leak_attacks() { return {"leaks", kAttacks}; }

}  // namespace glovebox::attacks
