#include "guest/agent/init/zygote_init.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "base/fd_message.h"
#include "guest/agent/init/proc_mask.h"
#include "guest/agent/init/root_view.h"
#include "guest/agent/init/seccomp_filter.h"
#include "guest/agent/run/program.h"
#include "sys/landlock.h"

namespace glovebox::agent {
namespace {

enum ZygoteFd : std::size_t {
  kZygoteSocketFd,
  kZygoteRootFd,
  kZygoteUsrFd,
  kZygoteDevFd,
  kZygoteBootIdFd,
  kZygoteFirstCgroupFd
};
constexpr int kItsSocket = 3;

struct ZygoteSetup {
  const wire::MakeZygote& make;
  std::vector<UniqueFd> fds;
};

Result<> check_descriptors(ZygoteSetup& setup) {
  if (setup.fds.size() == kZygoteFirstCgroupFd + setup.make.cgroups) return {};
  return fail(Errc::kProtocol, "the number of descriptors does not fit MakeZygote");
}

Result<> join_zygote_cgroups(ZygoteSetup& setup) {
  for (std::size_t i = kZygoteFirstCgroupFd; i < setup.fds.size(); ++i) {
    if (::write(setup.fds[i].get(), "0", 1) != 1) return fail(Error::from_errno("join"));
  }
  if (::unshare(CLONE_NEWCGROUP) != 0) return fail(Error::from_errno("unshare cgroup namespace"));
  return {};
}

Result<> mount_template_root(ZygoteSetup& setup) {
  TRY_OK(make_mounts_private());
  // It sees only its own processes, not those of sandboxes.
  TRY_OK(mount_proc("hidepid=2"));
  TRY_OK(attach(setup.fds[kZygoteDevFd].get(), "/dev"));
  TRY_OK(mask_proc_below("", learn_proc_mask("")));
  TRY_OK(attach_boot_id(setup.fds[kZygoteBootIdFd].get()));
  TRY_OK(attach(setup.fds[kZygoteRootFd].get(), kStage));
  TRY_OK(attach(setup.fds[kZygoteUsrFd].get(), std::string(kStage) + "/usr"));
  TRY_OK(move_proc_and_dev());
  return pivot_into_stage();
}

Result<> set_zygote_rlimits(ZygoteSetup&) {
  struct Bound {
    __rlimit_resource resource;
    rlim_t most;
  };
  // The limits of its children are set when their sandbox is taken, and can only be lower.
  for (const Bound& bound : {Bound{RLIMIT_CORE, 0}, Bound{RLIMIT_RTPRIO, 0}}) {
    const rlimit limit{bound.most, bound.most};
    if (::setrlimit(bound.resource, &limit) != 0) return fail(Error::from_errno("set rlimit"));
  }
  return {};
}

Result<> take_descriptors(ZygoteSetup& setup) {
  const int socket = setup.fds[kZygoteSocketFd].get();
  if (socket == kItsSocket) {
    if (::fcntl(socket, F_SETFD, 0) != 0) return fail(Error::from_errno("keep the socket"));
  } else if (::dup2(socket, kItsSocket) < 0) {
    return fail(Error::from_errno("keep the socket"));
  }
  if (::syscall(SYS_close_range, kItsSocket + 1u, ~0u, CLOSE_RANGE_CLOEXEC) != 0) {
    return fail(Error::from_errno("close descriptors"));
  }
  return {};
}

// It runs without no_new_privs, with which its children in sessions could never become root inside
// (sudo); those in runs set it themselves. It cannot gain privileges anyway: its bounding set is
// empty, and everything it sees is mounted nosuid.
Result<> drop_zygote_capabilities(ZygoteSetup& setup) {
  for (int capability = 0; capability <= 63; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      if (errno == EINVAL) break;  // past the last one this kernel has
      return fail(Error::from_errno("drop capability"));
    }
  }
  const uid_t uid = setup.make.uid;
  // Rootless, the zygote and the broker share the only user, and there are no groups to drop.
  if (uid != 0 &&
      (::syscall(SYS_setgroups, 0, nullptr) != 0 || ::syscall(SYS_setresgid, uid, uid, uid) != 0 ||
       ::syscall(SYS_setresuid, uid, uid, uid) != 0)) {
    return fail(Error::from_errno("become the zygote's user"));
  }
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
    return fail(Error::from_errno("clear ambient capabilities"));
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0)
    return fail(Error::from_errno("drop all capabilities"));
  return {};
}

// Its user owns the sandboxes' user namespaces, which gives it every right over their first
// processes while those are being set up; a process in a Landlock domain cannot use that. Where the
// kernel has no such domain a zygote's modules must be trusted; see docs/engines/jail.md.
Result<> enter_zygote_landlock(ZygoteSetup&) {
  if (sys::landlock_abi() < sys::kLandlockScopes) return {};
  TRY(const UniqueFd ruleset, sys::make_scoping_ruleset());
  if (const int error = sys::enter_landlock(ruleset.get()); error != 0) {
    return fail(Error::from_errno("enter landlock", error));
  }
  return {};
}

Result<> reset_zygote_signals(ZygoteSetup&) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < 65; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::umask(022);
  return {};
}

Result<> install_filter(ZygoteSetup&) {
  if (const int error = install_zygote_filters(); error != 0) {
    return fail(Error::from_errno("install seccomp", error));
  }
  return {};
}

Result<> execute(ZygoteSetup& setup) {
  const std::vector<char*> argv = pointers_to(setup.make.argv);
  const std::vector<char*> envp = pointers_to(setup.make.env);
  ExecSpec exec;
  exec.argv = setup.make.argv;
  exec.env = setup.make.env;
  const std::string program = find_program(exec);
  ::execve(program.c_str(), argv.data(), envp.data());
  return fail(Error::from_errno("execute " + setup.make.argv[0]));
}

struct ZygoteStep {
  const char* name;
  Result<> (*run)(ZygoteSetup&);
};

// The order is the design; each step may rely on all those above it.
constexpr ZygoteStep kZygoteSteps[] = {
    {"check descriptors", check_descriptors},
    {"join cgroups", join_zygote_cgroups},  // from here on what it imports is counted and bounded
    {"mount the template's root", mount_template_root},
    {"set rlimits", set_zygote_rlimits},
    {"reset signals", reset_zygote_signals},
    {"take descriptors", take_descriptors},
    {"enter landlock", enter_zygote_landlock},  // both while it may without no_new_privs
    {"install seccomp", install_filter},        // denies nothing that comes after it
    {"drop capabilities", drop_zygote_capabilities},
    {"execute", execute},
};

}  // namespace

void run_zygote_init(const wire::MakeZygote& make, std::vector<UniqueFd> fds) {
  ZygoteSetup setup{make, std::move(fds)};
  for (const ZygoteStep& step : kZygoteSteps) {
    if (auto done = step.run(setup); !done) {
      const wire::SandboxFailed failed{std::string(step.name) + ": " + done.error().message(),
                                       done.error().sys_errno()};
      if (!setup.fds.empty()) {
        (void)send_message(setup.fds[kZygoteSocketFd].get(),
                           wire::encode(wire::PlanMessage(failed)));
      }
      ::_exit(1);
    }
  }
  ::_exit(127);
}

}  // namespace glovebox::agent
