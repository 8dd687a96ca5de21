// Between clone and exec: no allocation, no exceptions, no logging; async-signal-safe calls only.
#include "launcher/nursery/nursery_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <type_traits>

namespace glovebox::launcher {
namespace {

static_assert(std::is_trivially_copyable_v<NurseryPlan>);

constexpr int kBrokerSocket = 3;

int wait_for_users(const NurseryPlan& plan) noexcept {
  char byte = 0;
  const ssize_t got = ::read(plan.go_fd, &byte, 1);
  return got == 1 ? 0 : got < 0 ? errno : EPIPE;
}

int become_root_inside(const NurseryPlan& plan) noexcept {
  if (plan.drops_groups && ::syscall(SYS_setgroups, 0, nullptr) != 0) return errno;
  if (::syscall(SYS_setresgid, 0, 0, 0) != 0) return errno;
  return ::syscall(SYS_setresuid, 0, 0, 0) == 0 ? 0 : errno;
}

int die_with_the_launcher(const NurseryPlan&) noexcept {
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? 0 : errno;
}

// Neither the caller's terminal nor our log: no descriptor of the host is open inside.
int drop_nursery_streams(const NurseryPlan&) noexcept {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return errno;
  for (const int stream : {0, 1, 2}) {
    if (::dup2(null, stream) < 0) return errno;
  }
  return 0;
}

int make_mounts_private(const NurseryPlan&) noexcept {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? 0 : errno;
}

// The broker sees no host file: its root has a /proc of its own pid namespace, without which
// sandboxes could not mount theirs, and a directory in which they build their roots.
int mount_tiny_root(const NurseryPlan&) noexcept {
  constexpr const char* kAnyDirectory =
      "/usr";  // exists on every host and is searchable by every user
  if (::mount("glovebox", kAnyDirectory, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "size=16k,nr_inodes=8,mode=0755") != 0) {
    return errno;
  }
  if (::chdir(kAnyDirectory) != 0 || ::mkdir("proc", 0555) != 0 || ::mkdir("dev", 0755) != 0 ||
      ::mkdir("stage", 0755) != 0) {
    return errno;
  }
  return 0;
}

int mount_proc(const NurseryPlan&) noexcept {
  return ::mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 ? 0
                                                                                         : errno;
}

int pivot_into_root(const NurseryPlan&) noexcept {
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno;
  if (::umount2(".", MNT_DETACH) != 0) return errno;
  return ::chdir("/") == 0 ? 0 : errno;
}

int keep_only_nursery_descriptors(const NurseryPlan& plan) noexcept {
  if (plan.socket_fd != kBrokerSocket) {
    if (::dup3(plan.socket_fd, kBrokerSocket, 0) < 0) return errno;
  } else if (::fcntl(kBrokerSocket, F_SETFD, 0) != 0) {
    return errno;
  }
  return ::syscall(SYS_close_range, kBrokerSocket + 1u, ~0u, CLOSE_RANGE_CLOEXEC) == 0 ? 0 : errno;
}

struct NurseryStep {
  const char* name;
  int (*run)(const NurseryPlan&) noexcept;
};

constexpr NurseryStep kNurserySteps[] = {
    {"map users", wait_for_users},
    {"become root inside", become_root_inside},
    {"die with the launcher", die_with_the_launcher},
    {"drop standard streams", drop_nursery_streams},
    {"make mounts private", make_mounts_private},  // else they propagate to the host
    {"mount a tiny root", mount_tiny_root},
    {"mount proc", mount_proc},  // before the pivot: needs a visible /proc
    {"pivot into root", pivot_into_root},
    {"keep only our descriptors", keep_only_nursery_descriptors},
};

}  // namespace

const char* nursery_step_name(unsigned step) noexcept {
  return step < std::size(kNurserySteps) ? kNurserySteps[step].name : "execute the broker";
}

void run_nursery_child(const NurseryPlan& plan) noexcept {
  NurseryFailure failure{};
  for (; failure.step < std::size(kNurserySteps); ++failure.step) {
    failure.error = kNurserySteps[failure.step].run(plan);
    if (failure.error != 0) break;
  }
  if (failure.error == 0) {
    char name[] = "glovebox-agent";
    char* const argv[] = {name, const_cast<char*>(plan.role), nullptr};
    char* const envp[] = {nullptr};
    ::syscall(SYS_execveat, plan.agent_fd, "", argv, envp, AT_EMPTY_PATH);
    failure.error = errno;
  }
  (void)!::write(plan.failure_fd, &failure, sizeof failure);
  ::_exit(127);
}

}  // namespace glovebox::launcher
