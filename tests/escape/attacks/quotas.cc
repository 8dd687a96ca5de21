// Kernel quotas that are shared by all who have the same uid, or the same machine. One sandbox
// takes all it can get and keeps it (step=exhaust), another must still get its own (step=check).
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

bool is_check(const Args& args) { return args.get("step") == "check"; }

// Holds what was taken; a sandbox that gives nothing at all cannot be exhausted.
Verdict hold(long count, const char* what, int err) {
  if (count == 0) return denied_by_errno(std::string("not even one: ") + what, err);
  return stay_until_checked("took " + std::to_string(count) + " " + what);
}

// For the check: what should have worked and did not, is the neighbour's doing.
Verdict starved_if(bool failed, const char* what) {
  if (!failed) return denied(std::string("still gets ") + what);
  const char* name = strerrorname_np(errno);
  return succeeded(std::string("starved of ") + what + ": " + (name == nullptr ? "?" : name));
}

void raise_soft_limit(__rlimit_resource which) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(which, &limit);
}

// Makes descriptors until the quota says no. Where the process's own descriptors run out first, a
// child goes on; children stay until their parent ends.
long take_descriptors(int (*make)(), long most, int& err) {
  raise_soft_limit(RLIMIT_NOFILE);
  int ends[2];
  long count = 0;
  for (int process = 0; process < 100; ++process) {
    while (count < most && make() >= 0) ++count;
    err = errno;
    const int spare = dup(0);
    if (count >= most || spare >= 0) {
      if (spare >= 0) close(spare);
      if (process > 0) {
        (void)!write(ends[1], &count, sizeof count);
        pause();
      }
      return count;
    }
    // Out of descriptors: room for the pipe, then a child without ours takes over.
    for (int fd = 3; fd < 6; ++fd) close(fd);
    count -= 3;
    if (pipe(ends) != 0) return count;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) return count;
    if (child > 0) {
      close(ends[1]);
      if (read(ends[0], &count, sizeof count) != sizeof count) return count;
      return count;
    }
    end_with_parent(parent);
    // The parent's copies keep its share alive; ours would only fill our own table.
    close_range(6, ~0U, 0);
  }
  return count;
}

int make_inotify() { return inotify_init1(IN_CLOEXEC); }
Verdict inotify_instances(const Args& args) {
  if (is_check(args)) return starved_if(make_inotify() < 0, "inotify instances");
  int err = 0;
  const long count = take_descriptors(make_inotify, 20000, err);
  return hold(count, "inotify instances", err);
}

Verdict keys(const Args& args) {
  auto add = [](int number) {
    const std::string name = "gbx-" + std::to_string(getpid()) + "-" + std::to_string(number);
    return syscall(SYS_add_key, "user", name.c_str(), "x", 1, KEY_SPEC_PROCESS_KEYRING);
  };
  if (is_check(args)) return starved_if(add(0) < 0, "keys");
  int count = 0;
  while (count < 5000 && add(count) >= 0) ++count;
  return hold(count, "keys", errno);
}

Verdict pending_signals(const Args& args) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  if (is_check(args)) {
    return starved_if(sigqueue(getpid(), SIGRTMIN, sigval{}) != 0, "queued signals");
  }
  raise_soft_limit(RLIMIT_SIGPENDING);
  long count = 0;
  while (count < 1000000 && sigqueue(getpid(), SIGRTMIN, sigval{}) == 0) ++count;
  return hold(count, "queued signals", errno);
}

// Whether there is one more queue now. Landlock refuses to open it only after the kernel has made
// and counted it, so a refusal is a success here; such a queue keeps its name, and with it its
// place.
bool make_queue(const std::string& name, long messages, long size) {
  mq_attr attributes{};
  attributes.mq_maxmsg = messages;
  attributes.mq_msgsize = size;
  const mqd_t queue = mq_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
  if (queue < 0) return errno == EACCES;
  // Without a name it lives and counts as long as it is open.
  mq_unlink(name.c_str());
  return true;
}
Verdict message_queues(const Args& args) {
  const std::string base = "/gbx-" + args.get("token") + "-" + args.get("step");
  if (is_check(args)) return starved_if(!make_queue(base, 1, 16), "message queues");
  raise_soft_limit(RLIMIT_MSGQUEUE);
  int count = 0;
  for (const long size : {8192L, 1024L, 16L}) {
    const long messages = size == 16 ? 1 : 10;
    while (count < 4000 && make_queue(base + std::to_string(count), messages, size)) ++count;
  }
  return hold(count, "message queues", errno);
}

int make_large_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
  // Below the usual 64 KiB the quota is used up: the kernel gives the smallest pipes only.
  if (fcntl(ends[0], F_GETPIPE_SZ) >= 65536) return ends[0];
  close(ends[0]);
  close(ends[1]);
  errno = EPERM;
  return -1;
}
Verdict pipe_pages(const Args& args) {
  if (is_check(args)) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return starved_if(true, "pipes");
    errno = ENOBUFS;
    return starved_if(fcntl(ends[0], F_GETPIPE_SZ) < 65536, "pipe buffers");
  }
  int err = 0;
  const long count = take_descriptors(make_large_pipe, 4000, err);
  return hold(count, "pipes", err);
}

Verdict user_namespaces(const Args& args) {
  if (is_check(args)) return starved_if(unshare(CLONE_NEWUSER) != 0, "user namespaces");
  int count = 0;
  int err = 0;
  while (count < 64) {
    const Verdict verdict = [&] {
      int ends[2];
      if (pipe(ends) != 0) return not_tried("pipe");
      const pid_t parent = getpid();
      const pid_t child = fork();
      if (child == 0) {
        end_with_parent(parent);
        const int failed = unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
        (void)!write(ends[1], &failed, sizeof failed);
        if (failed == 0) pause();
        _exit(0);
      }
      close(ends[1]);
      err = EAGAIN;
      if (child > 0 && read(ends[0], &err, sizeof err) != sizeof err) err = EIO;
      close(ends[0]);
      return err == 0 ? succeeded("") : denied("");
    }();
    if (verdict.code != kSucceeded) break;
    ++count;
  }
  return hold(count, "user namespaces", err);
}

// A process may lock what it may read, and both read the same files of /usr.
Verdict file_lock(const Args& args) {
  const int fd = open("/usr/lib/os-release", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return not_tried("open");
  const bool failed = flock(fd, LOCK_EX | LOCK_NB) != 0;
  if (is_check(args)) return starved_if(failed, "the lock of a file in /usr");
  return hold(failed ? 0 : 1, "lock", errno);
}

int lock_shared_page() {
  const int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  if (id < 0) return -1;
  const int result = shmctl(id, SHM_LOCK, nullptr);
  const int err = errno;
  // Marked for removal it lives while attached, and goes with the process.
  if (result == 0) shmat(id, nullptr, 0);
  shmctl(id, IPC_RMID, nullptr);
  errno = err;
  return result;
}
Verdict locked_pages(const Args& args) {
  if (is_check(args)) return starved_if(lock_shared_page() != 0, "locked memory");
  raise_soft_limit(RLIMIT_MEMLOCK);
  int count = 0;
  while (count < 3000 && lock_shared_page() == 0) ++count;
  return hold(count, "locked pages", errno);
}

Verdict processes(const Args& args) {
  auto start = [] {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
      end_with_parent(parent);
      pause();
      _exit(0);
    }
    return child;
  };
  if (is_check(args)) {
    const pid_t child = start();
    const Verdict verdict = starved_if(child < 0, "processes");
    if (child > 0) kill(child, SIGKILL);
    return verdict;
  }
  int count = 0;
  while (count < 3000 && start() > 0) ++count;
  return hold(count, "processes", errno);
}

std::string ptmx_path = "/dev/ptmx";
int make_terminal() { return open(ptmx_path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC); }
Verdict terminals(const Args& args) {
  ptmx_path = args.get("ptmx", "/dev/ptmx");
  if (is_check(args)) return starved_if(make_terminal() < 0, "terminals");
  int err = 0;
  // The kernel keeps 1024 of 4096 for the host; asking for no more than the rest leaves it alone.
  const long count = take_descriptors(make_terminal, 3072, err);
  return hold(count, "terminals", err);
}

int send_descriptor() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) return -1;
  char byte = 'x';
  iovec data{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * 8)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int) * 8);
  for (int at = 0; at < 8; ++at) memcpy(CMSG_DATA(head) + at * sizeof(int), &pair[0], sizeof(int));
  int sent = 0;
  while (sent < 8 && sendmsg(pair[1], &message, 0) >= 0) ++sent;
  const int err = errno;
  close(pair[1]);
  if (sent == 0 || err == ETOOMANYREFS) {
    errno = err;
    return -1;
  }
  return pair[0];
}
Verdict descriptors_in_flight(const Args& args) {
  if (is_check(args)) {
    const bool failed = send_descriptor() < 0;
    return starved_if(failed, "descriptors in flight");
  }
  int err = 0;
  const long count = take_descriptors(send_descriptor, 30000, err);
  return hold(count, "descriptors in flight", err);
}

// The control: both steps as one and the same host uid, with a small quota where it can be set.
Verdict same_user(Step run, const Args& args, int which = -1, rlim_t amount = 0) {
  const unsigned uid = kNobodysUid + static_cast<unsigned>(getpid());
  auto step = [&, uid](const char* name) {
    const rlimit limit{amount, amount};
    if (which >= 0 && setrlimit(static_cast<__rlimit_resource>(which), &limit) != 0) {
      return not_tried("setrlimit");
    }
    if (!become_nobody(uid)) return not_tried("drop");
    return run(args.with("step", name));
  };
  return in_child(
      [&] { return two_steps([&] { return step("exhaust"); }, [&] { return step("check"); }); });
}

Verdict user_namespaces_control(const Args& args) {
  // In a user namespace of the control's own, whose quota can be made small.
  return in_child([&] {
    if (!become_root_of_new_users() || !write_file("/proc/sys/user/max_user_namespaces", "4")) {
      return not_tried("set up the user namespace");
    }
    return two_steps([&] { return user_namespaces(args.with("step", "exhaust")); },
                     [&] { return user_namespaces(args.with("step", "check")); });
  });
}

Verdict terminals_control(const Args& args) {
  // One small devpts for both; the machine's own terminals are left alone.
  return in_scratch([&](const std::string& dir) {
    if (mount("devpts", dir.c_str(), "devpts", 0, "newinstance,ptmxmode=0666,mode=620,max=16") !=
        0) {
      return not_tried("mount devpts");
    }
    const Args with_path = args.with("ptmx", dir + "/ptmx");
    return two_steps([&] { return terminals(with_path.with("step", "exhaust")); },
                     [&] { return terminals(with_path.with("step", "check")); });
  });
}

#define GBX_QUOTA(NAME, AIM, HELD, RUN, ...)                                                     \
  {                                                                                              \
    .name = NAME, .aims_at = AIM, .held_by = HELD, .run = RUN,                                   \
    .control = [](const Args& args) { return same_user(RUN, args __VA_OPT__(, ) __VA_ARGS__); }, \
    .kind = "neighbour", .needs = "host_check"                                                   \
  }
const char* const kOwnUid = "a uid slice of its own";
const Attack kAttacks[] = {
    GBX_QUOTA("quota_inotify", "the neighbour's inotify instances", "quota of the user namespace",
              inotify_instances),
    GBX_QUOTA("quota_keys", "the neighbour's keys", "seccomp", keys),
    GBX_QUOTA("quota_pending_signals", "the neighbour's queued signals", kOwnUid, pending_signals,
              RLIMIT_SIGPENDING, 64),
    GBX_QUOTA("quota_message_queues", "the neighbour's message queues", kOwnUid, message_queues),
    GBX_QUOTA("quota_pipe_pages", "the neighbour's pipe buffers", kOwnUid, pipe_pages),
    {.name = "quota_user_namespaces",
     .aims_at = "the neighbour's user namespaces",
     .held_by = "seccomp",
     .run = user_namespaces,
     .control = user_namespaces_control,
     .kind = "neighbour",
     .needs = "host_check"},
    GBX_QUOTA("quota_file_lock", "the neighbour's lock on a shared file", "an overlay of its own",
              file_lock),
    GBX_QUOTA("quota_locked_memory", "the neighbour's locked memory", kOwnUid, locked_pages,
              RLIMIT_MEMLOCK, 65536),
    GBX_QUOTA("quota_processes", "the neighbour's processes", "pids cgroup, uid slice", processes,
              RLIMIT_NPROC, 20),
    {.name = "quota_terminals",
     .aims_at = "the neighbour's terminals",
     .held_by = "devpts with a maximum",
     .run = terminals,
     .control = terminals_control,
     .kind = "neighbour",
     .needs = "host_check"},
    GBX_QUOTA("quota_descriptors_in_flight", "the neighbour's descriptors in flight", kOwnUid,
              descriptors_in_flight, RLIMIT_NOFILE, 64),
};
#undef GBX_QUOTA

}  // namespace

Group quota_attacks() { return {"quotas", kAttacks}; }

}  // namespace glovebox::attacks
