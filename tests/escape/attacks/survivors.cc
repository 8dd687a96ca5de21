// Processes that try to outlive their run. They carry the runner's token in their command line, by
// which the runner looks for them on the host when the run is over.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

constexpr int kLinger = 120;  // seconds; bounded, should the runner itself be killed

void linger() {
  const timespec nap{kLinger, 0};
  timespec left = nap;
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  _exit(0);
}

// Forks, tells the parent when `prepare` is done, and stays.
template <class Prepare>
Verdict leave_behind(const char* what, Prepare prepare) {
  int ends[2];
  if (pipe(ends) != 0) return not_tried("pipe");
  const pid_t child = fork();
  if (child < 0) return denied_by_errno("fork", errno);
  if (child == 0) {
    prepare(ends[1]);
    (void)!write(ends[1], "r", 1);
    close(ends[1]);
    linger();
  }
  close(ends[1]);
  char byte;
  if (read(ends[0], &byte, 1) != 1) return denied("the child did not get far");
  return denied(std::string("left behind: ") + what);
}

void detach_from_stdio() {
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
}

Verdict double_fork(const Args&) {
  return leave_behind("a grandchild without a parent", [](int) {
    if (fork() != 0) _exit(0);
    detach_from_stdio();
  });
}

Verdict new_session(const Args&) {
  return leave_behind("a child in a session of its own", [](int) {
    setsid();
    detach_from_stdio();
  });
}

Verdict no_death_signal(const Args&) {
  return leave_behind("a child whose parent-death signal is cleared", [](int) {
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    setsid();
  });
}

Verdict ignoring_signals(const Args&) {
  return leave_behind("a child that ignores every signal it can", [](int) {
    for (int number = 1; number < 65; ++number) signal(number, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    detach_from_stdio();
  });
}

Verdict stopped(const Args&) {
  return leave_behind("a child that is stopped", [](int ready) {
    detach_from_stdio();
    (void)!write(ready, "r", 1);
    raise(SIGSTOP);
  });
}

Verdict traced(const Args&) {
  return leave_behind("a child held in a tracer's stop", [](int) {
    const pid_t tracee = fork();
    if (tracee == 0) {
      ptrace(PTRACE_TRACEME, 0, 0, 0);
      raise(SIGSTOP);
      linger();
    }
    waitpid(tracee, nullptr, WUNTRACED);
    detach_from_stdio();
  });
}

Verdict holding_stdio(const Args&) {
  return leave_behind("a child that keeps stdout and stderr open", [](int) { setsid(); });
}

// A chain in which every process makes the next one and ends, to be gone before it is looked at.
Verdict moving_target(const Args&) {
  return leave_behind("a chain of processes, each replaced by the next", [](int ready) {
    detach_from_stdio();
    setsid();
    (void)!write(ready, "r", 1);
    close(ready);
    timespec start{};
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
      if (fork() > 0) _exit(0);
      timespec now{};
      clock_gettime(CLOCK_MONOTONIC, &now);
      if (now.tv_sec - start.tv_sec > 10) _exit(0);
      const timespec nap{0, 10000000};
      nanosleep(&nap, nullptr);
    }
  });
}

// Outside the children live on: the control counts them by the token and ends them.
template <Step kRun>
Verdict survives_outside(const Args& args) {
  const std::string token = args.get("token");
  if (token.size() < 8) return not_tried("no token given");
  const pid_t child = fork();
  if (child == 0) {
    detach_from_stdio();
    _exit(kRun(args).code == kDenied ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  size_t most = 0;
  // Also those of a chain, which may be between two pids in any one look.
  for (int round = 0, quiet = 0; round < 20000 && quiet < 50; ++round) {
    std::vector<int> left;
    for (const int pid : pids_with_cmdline("token=" + token)) {
      if (pid != getppid()) left.push_back(pid);
    }
    if (left.size() > most) most = left.size();
    for (const int pid : left) kill(pid, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    quiet = left.empty() ? quiet + 1 : 0;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return not_tried("the attack did not get far");
  if (most == 0) return denied("nothing survived");
  return succeeded(std::to_string(most) + " processes survived their parent");
}

const char* const kAllDie = "the pid namespace ends with the run";
#define GBX_SURVIVOR(NAME, AIM, RUN)                              \
  {                                                               \
    .name = NAME, .aims_at = AIM, .held_by = kAllDie, .run = RUN, \
    .control = survives_outside<RUN>, .kind = "survivor"          \
  }
const Attack kAttacks[] = {
    GBX_SURVIVOR("survivor_double_fork", "outliving the run by a double fork", double_fork),
    GBX_SURVIVOR("survivor_setsid", "outliving the run in an own session", new_session),
    GBX_SURVIVOR("survivor_no_death_signal", "outliving the run without parent-death signal",
                 no_death_signal),
    GBX_SURVIVOR("survivor_ignoring_signals", "outliving the run by ignoring signals",
                 ignoring_signals),
    GBX_SURVIVOR("survivor_stopped", "outliving the run while stopped", stopped),
    GBX_SURVIVOR("survivor_traced", "outliving the run in a tracer's stop", traced),
    GBX_SURVIVOR("survivor_holding_stdio", "keeping the run from ending by its pipes",
                 holding_stdio),
    GBX_SURVIVOR("survivor_moving_target", "outrunning a killer that goes by pid", moving_target),
};
#undef GBX_SURVIVOR

}  // namespace

Group survivor_attacks() { return {"processes", kAttacks}; }

}  // namespace glovebox::attacks
