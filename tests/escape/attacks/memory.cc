// Bombs that fill memory and disk, each by another way. All stop by themselves at a size that is
// several times what the run is given, so that a sandbox without a limit shows it and no more.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

constexpr long kMiB = 1 << 20;
constexpr long kAimMiB = 200;  // the runs get 64 MiB of memory and 16 MiB of disk
// The time is for what grows slower the further it gets, such as a path of ten thousand names.
constexpr const char* kLimits = "--memory 64M --disk 16M --timeout 10s";

Verdict reached() { return succeeded("filled " + std::to_string(kAimMiB) + " MiB"); }

Verdict anonymous(const Args&) {
  for (long done = 0; done < kAimMiB; ++done) {
    void* piece = mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return denied_by_errno("mmap", errno);
    memset(piece, 'x', kMiB);
  }
  return reached();
}

// In many children, so that the death of one is not the end.
Verdict in_children(const Args&) {
  for (int child = 0; child < 20; ++child) {
    int ends[2];
    if (pipe(ends) != 0) return not_tried("pipe");
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) return denied_by_errno("fork", errno);
    if (pid == 0) {
      end_with_parent(parent);
      for (long done = 0; done < kAimMiB / 20; ++done) {
        void* piece =
            mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (piece == MAP_FAILED) _exit(1);
        memset(piece, 'x', kMiB);
      }
      (void)!write(ends[1], "r", 1);
      pause();
      _exit(0);
    }
    close(ends[1]);
    char byte;
    if (read(ends[0], &byte, 1) != 1) return denied("a child was killed");
    close(ends[0]);
  }
  return reached();
}

Verdict fill_file(int fd) {
  if (fd < 0) return denied_by_errno("open", errno);
  const std::string block(kMiB, 'x');
  for (long done = 0; done < kAimMiB;) {
    const ssize_t count = write(fd, block.data(), block.size());
    if (count <= 0) return denied_by_errno("write after " + std::to_string(done) + " MiB", errno);
    if (count == kMiB) ++done;
  }
  return reached();
}

Verdict fill_dir(const std::string& dir) {
  return fill_file(open((dir + "/gbx-fill").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}
Verdict disk(const Args& args) { return fill_dir(args.get("dir", ".")); }
Verdict tmp(const Args& args) { return fill_dir(args.get("dir", "/tmp")); }
Verdict shm_dir(const Args& args) { return fill_dir(args.get("dir", "/dev/shm")); }
Verdict memory_file(const Args&) {
  return fill_file(static_cast<int>(memfd_create("gbx", MFD_CLOEXEC)));
}

Verdict allocate(const Args& args) {
  const std::string path = args.get("dir", ".") + "/gbx-allocated";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return denied_by_errno("open", errno);
  if (fallocate(fd, 0, 0, kAimMiB * kMiB) != 0) return denied_by_errno("fallocate", errno);
  return reached();
}

// Removed but still open: nothing that counts files by walking would see it.
Verdict unlinked(const Args& args) {
  const std::string path = args.get("dir", ".") + "/gbx-unlinked";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  unlink(path.c_str());
  return fill_file(fd);
}

Verdict shared_segment(const Args&) {
  const int id = shmget(IPC_PRIVATE, kAimMiB * kMiB, IPC_CREAT | 0600);
  if (id < 0) return denied_by_errno("shmget", errno);
  char* memory = static_cast<char*>(shmat(id, nullptr, 0));
  const int err = errno;
  shmctl(id, IPC_RMID, nullptr);
  if (memory == reinterpret_cast<char*>(-1)) return denied_by_errno("shmat", err);
  for (long at = 0; at < kAimMiB * kMiB; at += 4096) memory[at] = 'x';
  return reached();
}

// Kernel memory: bytes that stay unread in sockets.
Verdict socket_buffers(const Args&) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const std::string block(65536, 'x');
  long bytes = 0;
  while (bytes < kAimMiB * kMiB) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
      return denied_by_errno("socketpair after " + std::to_string(bytes / kMiB) + " MiB", errno);
    }
    for (ssize_t count; (count = send(pair[0], block.data(), block.size(), 0)) > 0;) bytes += count;
  }
  return reached();
}

// Arguments are memory too, and a large argv costs every reader of the process list.
Verdict arguments(const Args&) {
  const std::string word(120 * 1024, 'x');
  constexpr int kWords = 40;  // 4.7 MiB, below the kernel's 6
  std::vector<char*> argv = {const_cast<char*>("glovebox-attacks"), const_cast<char*>("victim")};
  for (int at = 0; at < kWords; ++at) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  long bytes = 0;
  while (bytes < kAimMiB * kMiB) {
    int started[2];
    if (pipe2(started, O_CLOEXEC) != 0) return denied_by_errno("pipe", errno);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) return denied_by_errno("fork", errno);
    if (child == 0) {
      end_with_parent(parent);
      // A quarter of the stack's limit may be arguments, up to the kernel's own bound.
      rlimit stack{};
      getrlimit(RLIMIT_STACK, &stack);
      stack.rlim_cur = stack.rlim_max;
      setrlimit(RLIMIT_STACK, &stack);
      int input[2];
      if (pipe(input) == 0) dup2(input[0], 0);
      execv("/proc/self/exe", argv.data());
      const int err = errno;
      (void)!write(started[1], &err, sizeof err);
      _exit(127);
    }
    close(started[1]);
    int err = 0;
    const bool failed = read(started[0], &err, sizeof err) > 0;
    close(started[0]);
    if (failed) return denied_by_errno("exec with " + std::to_string(kWords * 120) + " KiB", err);
    bytes += kWords * static_cast<long>(word.size());
  }
  return reached();
}

Verdict inodes(const Args& args) {
  const std::string dir = args.get("dir", ".");
  constexpr long kAim = 100000;
  for (long count = 0; count < kAim; ++count) {
    const std::string path = dir + "/gbx-" + std::to_string(count);
    // The fastest way to use one up: an emulated processor makes the most of them in time, too.
    if (symlink("gbx", path.c_str()) != 0) {
      return denied_by_errno("link " + std::to_string(count), errno);
    }
  }
  return succeeded("made " + std::to_string(kAim) + " symbolic links");
}

Verdict deep_directories(const Args& args) {
  if (chdir(args.get("dir", ".").c_str()) != 0) return not_tried("chdir");
  constexpr long kAim = 100000;
  for (long depth = 0; depth < kAim; ++depth) {
    if (mkdir("d", 0700) != 0 || chdir("d") != 0) {
      return denied_by_errno("depth " + std::to_string(depth), errno);
    }
  }
  return succeeded("a tree " + std::to_string(kAim) + " deep");
}

template <Step kRun>
Verdict bounded(const Args& args) {
  return in_cgroup({}, [&] { return kRun(args); });
}
template <Step kRun>
Verdict bounded_files(const Args& args) {
  return in_cgroup({}, [&] {
    return in_scratch([&](const std::string& dir) { return kRun(args.with("dir", dir)); },
                      "size=400m,nr_inodes=200000");
  });
}

const char* const kMemory = "memory cgroup";
const char* const kDisk = "size of the upper layer";
#define GBX_FILL(NAME, AIM, HELD, RUN, CONTROL, OUTCOME)                                \
  {                                                                                     \
    .name = NAME, .aims_at = AIM, .held_by = HELD, .run = RUN, .control = CONTROL<RUN>, \
    .kind = "bomb", .outcome = OUTCOME, .limits = kLimits                               \
  }
const Attack kAttacks[] = {
    // Where no cgroup bounds memory, an rlimit of this one process does.
    GBX_FILL("bomb_memory", "all memory", "memory cgroup or rlimit", anonymous, bounded,
             "oom_killed|enomem"),
    GBX_FILL("bomb_memory_children", "all memory by many children", kMemory, in_children, bounded,
             "oom_killed"),
    GBX_FILL("bomb_memory_memfd", "all memory by memfd_create", kMemory, memory_file, bounded,
             "oom_killed|efbig"),
    GBX_FILL("bomb_memory_segment", "all memory by a shared segment", kMemory, shared_segment,
             bounded, "oom_killed|enospc|einval"),
    GBX_FILL("bomb_memory_sockets", "all memory by socket buffers", kMemory, socket_buffers,
             bounded, "oom_killed|emfile|enobufs"),
    GBX_FILL("bomb_memory_arguments", "all memory by arguments", kMemory, arguments, bounded,
             "oom_killed|eagain|enomem"),
    GBX_FILL("bomb_disk", "the whole disk", kDisk, disk, bounded_files, "enospc"),
    GBX_FILL("bomb_tmp", "all memory by /tmp", kDisk, tmp, bounded_files, "enospc"),
    GBX_FILL("bomb_dev_shm", "all memory by /dev/shm", "size of /dev/shm", shm_dir, bounded_files,
             "enospc"),
    GBX_FILL("bomb_disk_allocate", "the whole disk by fallocate", kDisk, allocate, bounded_files,
             "enospc|efbig"),
    GBX_FILL("bomb_disk_unlinked", "the whole disk by a removed file", kDisk, unlinked,
             bounded_files, "enospc"),
    GBX_FILL("bomb_inodes", "all inodes", "inode limit of the upper layer", inodes, bounded_files,
             "enospc"),
    GBX_FILL("bomb_deep_directories", "a tree too deep to walk", "inode limit of the upper layer",
             deep_directories, bounded_files, "enospc|timed_out"),
};
#undef GBX_FILL

}  // namespace

Group memory_attacks() { return {"resources", kAttacks}; }

}  // namespace glovebox::attacks
