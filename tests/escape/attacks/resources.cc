// Bombs of processes, descriptors, output, signals and time. Each stops by itself at a count or
// time well past what its run is given; the controls do the same in a bounded cgroup or for a
// second.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

constexpr int kManyProcesses = 200;  // the runs get 32

void linger() {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const timespec nap{60, 0};
  nanosleep(&nap, nullptr);
  _exit(0);
}

Verdict fork_bomb(const Args&) {
  for (int count = 0; count < kManyProcesses; ++count) {
    const pid_t child = fork();
    if (child < 0) return denied_by_errno("fork " + std::to_string(count), errno);
    if (child == 0) linger();
  }
  return succeeded("started " + std::to_string(kManyProcesses) + " processes");
}

// Every child forks as well, so that no single parent can be stopped.
Verdict fork_tree(const Args&) {
  struct Shared {
    std::atomic<int> started{0};  // counted before the fork, so that the tree stops at its aim
    std::atomic<int> refused{0};
  };
  auto* shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return not_tried("mmap");
  auto grow = [&] {
    while (shared->refused == 0 && shared->started.fetch_add(1) < kManyProcesses) {
      if (fork() < 0) shared->refused = errno;
    }
  };
  const pid_t self = getpid();
  grow();
  if (getpid() != self) linger();
  if (shared->refused != 0) {
    return denied_by_errno("fork after " + std::to_string(shared->started), shared->refused);
  }
  return succeeded("a tree of " + std::to_string(kManyProcesses) + " processes");
}

Verdict thread_bomb(const Args&) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  for (int count = 0; count < kManyProcesses; ++count) {
    pthread_t thread;
    const int err = pthread_create(
        &thread, &attributes,
        [](void*) -> void* {
          pause();
          return nullptr;
        },
        nullptr);
    if (err != 0) return denied_by_errno("thread " + std::to_string(count), err);
  }
  return succeeded("started " + std::to_string(kManyProcesses) + " threads");
}

Verdict zombies(const Args&) {
  for (int count = 0; count < kManyProcesses; ++count) {
    const pid_t child = fork();
    if (child < 0) return denied_by_errno("fork " + std::to_string(count), errno);
    if (child == 0) _exit(0);
  }
  return succeeded("left " + std::to_string(kManyProcesses) + " zombies");
}

// Orphans fall to PID 1. If it does not reap them, they fill the process table.
Verdict unreaped_orphans(const Args&) {
  for (int count = 0; count < 20; ++count) {
    const pid_t child = fork();
    if (child < 0) return denied_by_errno("fork", errno);
    if (child == 0) {
      if (fork() == 0) {
        usleep(1000);
        _exit(0);
      }
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  int left = 0;
  for (int round = 0; round < 1500; ++round) {
    left = 0;
    for (const int pid : visible_pids()) {
      const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
      const size_t at = stat.rfind(')');
      if (at != std::string::npos && stat.compare(at, 6, ") Z 1 ") == 0) ++left;
    }
    if (left == 0 && round > 20) return denied("PID 1 reaped all of them");
    usleep(1000);
  }
  return succeeded(std::to_string(left) + " orphans were never reaped");
}
Verdict unreaped_orphans_control(const Args& args) {
  return beside_init([&] { return unreaped_orphans(args); });
}

Verdict descriptors(const Args&) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  constexpr int kAim = 15000;
  for (int count = 0; count < kAim; ++count) {
    if (dup(0) < 0) return denied_by_errno("descriptor " + std::to_string(count), errno);
  }
  return succeeded("opened " + std::to_string(kAim) + " descriptors");
}
constexpr int kManyTerminals = 256;
Verdict terminals(const Args& args) {
  const std::string path = args.get("ptmx", "/dev/ptmx");
  for (int count = 0; count < kManyTerminals; ++count) {
    if (open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC) < 0) {
      return denied_by_errno("terminal " + std::to_string(count), errno);
    }
  }
  return succeeded("opened " + std::to_string(kManyTerminals) + " terminals");
}
Verdict terminals_control(const Args& args) {
  return in_scratch([&](const std::string& dir) {
    if (mount("devpts", dir.c_str(), "devpts", 0, "newinstance,ptmxmode=0666,max=300") != 0) {
      return not_tried("mount devpts");
    }
    return terminals(args.with("ptmx", dir + "/ptmx"));
  });
}

Verdict timers(const Args&) {
  constexpr int kAim = 50000;
  // The usual limit depends on the host's memory; root of the host may raise it.
  rlimit limit{2 * kAim, 2 * kAim};
  if (setrlimit(RLIMIT_SIGPENDING, &limit) != 0) {
    getrlimit(RLIMIT_SIGPENDING, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_SIGPENDING, &limit);
  }
  for (int count = 0; count < kAim; ++count) {
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, nullptr, &timer) != 0) {
      return denied_by_errno("timer " + std::to_string(count), errno);
    }
  }
  return succeeded("made " + std::to_string(kAim) + " timers");
}
// The kernel bounds open files per process; together they come out of one table of the host.
Verdict open_files(const Args&) {
  constexpr long kAim = 200'000;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1024);
  setrlimit(RLIMIT_NOFILE, &limit);
  long total = 0;
  int count = 0;
  for (; count < 1000 && total < kAim; ++count) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) break;
    const pid_t child = fork();
    if (child == 0) {
      long opened = 0;
      while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) ++opened;
      (void)!write(ends[1], &opened, sizeof opened);
      linger();
    }
    close(ends[1]);
    long opened = 0;
    const bool told = child > 0 && read(ends[0], &opened, sizeof opened) == sizeof opened;
    close(ends[0]);
    if (!told) break;
    total += opened;
  }
  const std::string text =
      std::to_string(total) + " files of " + std::to_string(count) + " processes";
  return total >= kAim ? succeeded("opened " + text) : denied("no more than " + text);
}

Verdict flood(int fd) {
  const std::string block(65536, 'x');
  constexpr long kAim = 64L << 20;
  for (long done = 0; done < kAim;) {
    const ssize_t count = write(fd, block.data(), block.size());
    if (count < 0) return denied_by_errno("write", errno);
    done += count;
  }
  return succeeded("wrote 64 MiB");
}
Verdict flood_stdout(const Args&) { return flood(1); }
Verdict flood_stderr(const Args&) { return flood(2); }
// Into a pipe whose reader throws away, which is what an unbounded caller amounts to.
template <Step kRun, int kFd>
Verdict drained(const Args& args) {
  int ends[2];
  if (pipe(ends) != 0) return not_tried("pipe");
  const pid_t reader = fork();
  if (reader == 0) {
    close(ends[1]);
    char buffer[65536];
    while (read(ends[0], buffer, sizeof buffer) > 0) {
    }
    _exit(0);
  }
  close(ends[0]);
  const Verdict verdict = in_child([&] {
    dup2(ends[1], kFd);
    return kRun(args);
  });
  close(ends[1]);
  waitpid(reader, nullptr, 0);
  return verdict;
}

using Clock = std::chrono::steady_clock;
Clock::time_point end_of(const Args& args) {
  return Clock::now() + std::chrono::milliseconds(args.number("millis", 20000));
}
Verdict never_stopped(const Args& args) {
  return succeeded("it was not stopped for " + args.get("millis", "20000") + " ms");
}

Verdict spin(const Args& args) {
  const auto end = end_of(args);
  while (Clock::now() < end) {
  }
  return never_stopped(args);
}

Verdict spin_in_children(const Args& args) {
  const auto end = end_of(args);
  const pid_t parent = getpid();
  for (int child = 0; child < 4; ++child) {
    if (fork() == 0) {
      end_with_parent(parent);
      while (Clock::now() < end) {
      }
      _exit(0);
    }
  }
  for (int child = 0; child < 4; ++child) wait(nullptr);
  return never_stopped(args);
}

Verdict share_of_processor(const Args&) {
  const auto start = Clock::now();
  // Enough of them for a good share of a machine that is busy with other things, and a session
  // each, because the kernel may share out processors among sessions first.
  for (int child = 0; child < 16; ++child) {
    if (fork() == 0) {
      setsid();
      while (Clock::now() < start + std::chrono::milliseconds(1500)) {
      }
      _exit(0);
    }
  }
  while (wait(nullptr) > 0) {
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const double used = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                      static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  const int percent = static_cast<int>(100 * used / wall);
  if (percent > 60) return succeeded("used " + std::to_string(percent) + "% of a processor");
  return denied("used " + std::to_string(percent) + "% of a processor");
}

Verdict sleep_on(const Args& args) {
  const auto end = end_of(args);
  while (Clock::now() < end) usleep(100000);
  return never_stopped(args);
}

Verdict ignore_signals(const Args& args) {
  for (int number = 1; number < 65; ++number) signal(number, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  return sleep_on(args);
}

Verdict close_stdio(const Args& args) {
  const int keep = fcntl(1, F_DUPFD_CLOEXEC, 10);
  for (int fd = 0; fd < 3; ++fd) close(fd);
  const Verdict verdict = sleep_on(args);
  dup2(keep, 1);
  return verdict;
}

Verdict stop_itself(const Args& args) {
  if (args.get("millis").empty()) {
    raise(SIGSTOP);
    return denied("another process sent SIGCONT");
  }
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  usleep(static_cast<useconds_t>(args.number("millis", 0)) * 1000);
  const bool still = waitpid(child, nullptr, WNOHANG) == 0;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (!WIFSTOPPED(status) || !still) return denied("it did not stay stopped");
  return never_stopped(args);
}

// The same process, another program, over and over.
Verdict exec_forever(const Args& args) {
  const long rounds = args.number("rounds", 1000000);
  if (rounds <= 0) return succeeded("executed itself as often as it liked");
  const std::string next = "rounds=" + std::to_string(rounds - 1);
  execl("/proc/self/exe", "glovebox-attacks", "bomb_exec", next.c_str(),
        static_cast<char*>(nullptr));
  return denied_by_errno("exec", errno);
}
Verdict exec_forever_control(const Args& args) { return exec_forever(args.with("rounds", "100")); }

Verdict signal_flood(const Args& args) {
  const auto end = end_of(args);
  signal(SIGUSR1, [](int) {});
  const pid_t parent = getpid();
  for (int child = 0; child < 4; ++child) {
    if (fork() == 0) {
      end_with_parent(parent);
      const pid_t target = getppid();
      while (Clock::now() < end) {
        for (int burst = 0; burst < 1000; ++burst) {
          kill(target, SIGUSR1);
          sigqueue(target, SIGRTMIN, sigval{});
          kill(1, 0);
        }
      }
      _exit(0);
    }
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  for (int left = 4; left > 0;) {
    if (wait(nullptr) > 0) --left;
  }
  return never_stopped(args);
}
Verdict signal_flood_safe(const Args& args) {
  // Blocked before another process can send it: its default is death.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return signal_flood(args);
}

template <Step kRun>
Verdict bounded(const Args& args) {
  return in_cgroup({}, [&] { return kRun(args.with("millis", "1200")); });
}

#define GBX_BOMB(NAME, AIM, HELD, RUN, CONTROL, OUTCOME, LIMITS)                                   \
  {                                                                                                \
    .name = NAME, .aims_at = AIM, .held_by = HELD, .run = RUN, .control = CONTROL, .kind = "bomb", \
    .outcome = OUTCOME, .limits = LIMITS                                                           \
  }
const char* const kPids = "pids cgroup";
const char* const kWall = "wall clock";
const Attack kAttacks[] = {
    GBX_BOMB("bomb_fork", "all processes", kPids, fork_bomb, bounded<fork_bomb>, "eagain",
             "--pids 32"),
    GBX_BOMB("bomb_fork_tree", "all processes by a growing tree", kPids, fork_tree,
             bounded<fork_tree>, "eagain", "--pids 32"),
    GBX_BOMB("bomb_threads", "all threads", kPids, thread_bomb, bounded<thread_bomb>, "eagain",
             "--pids 32"),
    GBX_BOMB("bomb_zombies", "the process table by zombies", kPids, zombies, bounded<zombies>,
             "eagain", "--pids 32"),
    {.name = "bomb_orphans",
     .aims_at = "the process table by orphans",
     .held_by = "the agent reaps",
     .run = unreaped_orphans,
     .control = unreaped_orphans_control},
    GBX_BOMB("bomb_descriptors", "all descriptors", "rlimit", descriptors, bounded<descriptors>,
             "emfile", ""),
    GBX_BOMB("bomb_open_files", "the host's open files by many processes",
             "rlimit by the number of processes", open_files, bounded<open_files>, "denied",
             "--pids 512"),
    GBX_BOMB("bomb_terminals", "all terminals", "devpts with a maximum", terminals,
             terminals_control, "enospc|emfile", ""),
    GBX_BOMB("bomb_timers", "all timers", "rlimit", timers, bounded<timers>, "eagain", ""),
    GBX_BOMB("bomb_stdout", "the caller's memory by output", "output limit", flood_stdout,
             (drained<flood_stdout, 1>), "truncated", "--output-limit 1M"),
    GBX_BOMB("bomb_stderr", "the caller's memory by errors", "output limit", flood_stderr,
             (drained<flood_stderr, 2>), "truncated", "--output-limit 1M"),
    GBX_BOMB("bomb_signals", "the agent's time by signals", kWall, signal_flood_safe,
             bounded<signal_flood_safe>, "timed_out", "--timeout 2s"),
    GBX_BOMB("bomb_spin", "a processor for ever", kWall, spin, bounded<spin>, "timed_out",
             "--timeout 1s"),
    GBX_BOMB("bomb_spin_cpu_time", "a processor within the wall clock", "CPU time", spin,
             bounded<spin>, "timed_out", "--timeout 15s --cpu-time 1s"),
    GBX_BOMB("bomb_spin_children", "processors by many children", "CPU time", spin_in_children,
             bounded<spin_in_children>, "timed_out", "--timeout 15s --cpu-time 1s"),
    GBX_BOMB("bomb_processor_share", "more than a half of a processor", "cpu cgroup",
             share_of_processor, bounded<share_of_processor>, "denied", "--cpus 0.5"),
    GBX_BOMB("bomb_sleep", "staying for ever", kWall, sleep_on, bounded<sleep_on>, "timed_out",
             "--timeout 1s"),
    GBX_BOMB("bomb_ignore_signals", "staying in spite of signals", kWall, ignore_signals,
             bounded<ignore_signals>, "timed_out", "--timeout 1s"),
    GBX_BOMB("bomb_close_stdio", "staying unseen without stdio", kWall, close_stdio,
             bounded<close_stdio>, "timed_out", "--timeout 1s"),
    GBX_BOMB("bomb_stop_itself", "staying while stopped", kWall, stop_itself, bounded<stop_itself>,
             "timed_out", "--timeout 1s"),
    GBX_BOMB("bomb_exec", "staying by endless exec", kWall, exec_forever, exec_forever_control,
             "timed_out", "--timeout 1s"),
};
#undef GBX_BOMB

}  // namespace

Group resource_attacks() { return {"resources", kAttacks}; }

}  // namespace glovebox::attacks
