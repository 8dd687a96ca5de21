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

enum ZygoteFd : std::size_t { kSocketFd, kRootFd, kUsrFd, kDevFd, kFirstCgroupFd };
constexpr int kItsSocket = 3;

struct Birth {
  const wire::MakeZygote& make;
  std::vector<UniqueFd> fds;
};

Result<> check_descriptors(Birth& birth) {
  if (birth.fds.size() == kFirstCgroupFd + birth.make.cgroups) return {};
  return fail(Errc::kProtocol, "a zygote with other descriptors than it says");
}

Result<> join_birth_cgroups(Birth& birth) {
  for (std::size_t i = kFirstCgroupFd; i < birth.fds.size(); ++i) {
    if (::write(birth.fds[i].get(), "0", 1) != 1) return fail(Error::from_errno("join"));
  }
  if (::unshare(CLONE_NEWCGROUP) != 0) return fail(Error::from_errno("unshare cgroup namespace"));
  return {};
}

Result<> see_the_template(Birth& birth) {
  TRY_OK(make_mounts_private());
  // Of the processes around it, sandboxes' among them, it sees its own alone.
  TRY_OK(mount_proc("hidepid=2"));
  TRY_OK(attach(birth.fds[kDevFd].get(), "/dev"));
  TRY_OK(mask_proc_below(""));
  TRY_OK(attach(birth.fds[kRootFd].get(), kStage));
  TRY_OK(attach(birth.fds[kUsrFd].get(), std::string(kStage) + "/usr"));
  TRY_OK(move_proc_and_dev());
  return pivot_into_stage();
}

Result<> bound_itself(Birth&) {
  struct Bound {
    __rlimit_resource resource;
    rlim_t most;
  };
  // What its children may use is set for each at the take, and can only be less.
  for (const Bound& bound : {Bound{RLIMIT_CORE, 0}, Bound{RLIMIT_RTPRIO, 0}}) {
    const rlimit limit{bound.most, bound.most};
    if (::setrlimit(bound.resource, &limit) != 0) return fail(Error::from_errno("set rlimit"));
  }
  return {};
}

Result<> take_descriptors(Birth& birth) {
  const int socket = birth.fds[kSocketFd].get();
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

// It lives without no_new_privs, because its children in sessions could never become root inside
// (sudo) with it; those in runs set it themselves. There is nothing to gain here: its bounding set
// is empty, and all that it sees is mounted nosuid.
Result<> have_no_capability(Birth& birth) {
  for (int capability = 0; capability <= 63; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      if (errno == EINVAL) break;  // past the last one this kernel has
      return fail(Error::from_errno("drop capability"));
    }
  }
  const uid_t uid = birth.make.uid;
  // Rootless there is one user, whom the zygote shares with the broker, and no groups to drop.
  if (uid != 0 &&
      (::syscall(SYS_setgroups, 0, nullptr) != 0 || ::syscall(SYS_setresgid, uid, uid, uid) != 0 ||
       ::syscall(SYS_setresuid, uid, uid, uid) != 0)) {
    return fail(Error::from_errno("become its user"));
  }
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
    return fail(Error::from_errno("clear ambient capabilities"));
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return fail(Error::from_errno("drop all"));
  return {};
}

// Its user made the sandboxes' user namespaces, which gives it every right over their first
// processes while those are being set up: from inside a domain it cannot use it. Where the kernel
// has no such domain a zygote's modules must be trusted; see docs/engines/jail.md.
Result<> shut_itself_in(Birth&) {
  if (sys::landlock_abi() < sys::kLandlockScopes) return {};
  TRY(const UniqueFd ruleset, sys::make_scoping_ruleset());
  if (const int error = sys::enter_landlock(ruleset.get()); error != 0) {
    return fail(Error::from_errno("enter landlock", error));
  }
  return {};
}

Result<> reset_birth_signals(Birth&) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < 65; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::umask(022);
  return {};
}

Result<> install_filter(Birth&) {
  if (const int error = install_zygote_filters(); error != 0) {
    return fail(Error::from_errno("install seccomp", error));
  }
  return {};
}

Result<> execute(Birth& birth) {
  const std::vector<char*> argv = pointers_to(birth.make.argv);
  const std::vector<char*> envp = pointers_to(birth.make.env);
  ::execve(argv[0], argv.data(), envp.data());
  return fail(Error::from_errno("execute " + birth.make.argv[0]));
}

struct BirthStep {
  const char* name;
  Result<> (*run)(Birth&);
};

// The order is the design; each step may rely on all those above it.
constexpr BirthStep kBirthSteps[] = {
    {"check descriptors", check_descriptors},
    {"join cgroups", join_birth_cgroups},  // from here on what it imports is counted and bounded
    {"see the template", see_the_template},
    {"bound itself", bound_itself},
    {"reset signals", reset_birth_signals},
    {"take descriptors", take_descriptors},
    {"shut itself in", shut_itself_in},   // both while it may without no_new_privs
    {"install seccomp", install_filter},  // denies nothing that comes after it
    {"have no capability", have_no_capability},
    {"execute", execute},
};

}  // namespace

void run_zygote_init(const wire::MakeZygote& make, std::vector<UniqueFd> fds) {
  Birth birth{make, std::move(fds)};
  for (const BirthStep& step : kBirthSteps) {
    if (auto done = step.run(birth); !done) {
      const wire::SandboxFailed failed{std::string(step.name) + ": " + done.error().message(),
                                       done.error().sys_errno()};
      if (!birth.fds.empty()) {
        (void)send_message(birth.fds[kSocketFd].get(), wire::encode(wire::PlanMessage(failed)));
      }
      ::_exit(1);
    }
  }
  ::_exit(127);
}

}  // namespace glovebox::agent
