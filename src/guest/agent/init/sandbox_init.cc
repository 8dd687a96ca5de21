#include "guest/agent/init/sandbox_init.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "base/fd_message.h"
#include "guest/agent/init/call_cleaner.h"
#include "guest/agent/init/guest_ids.h"
#include "guest/agent/init/namespace_quotas.h"
#include "guest/agent/init/proc_mask.h"
#include "guest/agent/init/root_view.h"
#include "guest/agent/init/sandbox_wait.h"
#include "guest/agent/init/scratch.h"
#include "guest/agent/init/serve_calls.h"
#include "guest/agent/run/program.h"
#include "guest/agent/run/runtime.h"
#include "guest/agent/run/serve.h"
#include "guest/agent/session/session_agent.h"
#include "guest/agent/session/session_child.h"
#include "sys/landlock.h"
#include "sys/loopback.h"
#include "sys/own_network.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {
namespace {

enum PlanFd : std::size_t { kRootFd, kUsrFd, kShmFd, kBootIdFd, kFirstMountFd };

struct Setup {
  UniqueFd go;
  UniqueFd launcher;
  bool own_slice = false;
  const ProcMask* mask = nullptr;  // of the broker, if it has one
  wire::SandboxPlan plan;
  NetworkStage network = NetworkStage::kNone;
  SandboxShares shares;
  std::optional<sys::NetworkSockets> sockets;
  UniqueFd dev;
  std::vector<UniqueFd> cgroups;
  std::vector<UniqueFd> mounts;
  UniqueFd upper;  // of a session
  int landlock_abi = 0;
  UniqueFd landlock;
  WallSet walls;
  // Of a sandbox that serves one call after the other.
  bool reusable = false;
  std::vector<UniqueFd> scratch;  // wire::kScratchPlaces
  std::optional<CallCleaner> cleaner;
};

Result<> errno_result(const char* what, int error) {
  if (error == 0) return {};
  return fail(Error::from_errno(what, error));
}

Result<> wait_for_users(Setup& setup) {
  char byte = 0;
  if (::read(setup.go.get(), &byte, 1) != 1)
    return fail(Errc::kUnavailable, "the broker has exited");
  setup.go.reset();
  // From here on no process in this sandbox, including root inside, can read or trace us.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return fail(Error::from_errno("become undumpable"));
  return {};
}

Result<> become_root_inside(Setup& setup) {
  setup.walls.add(Wall::kUserNamespace);
  if (!setup.own_slice) return {};
  if (::syscall(SYS_setgroups, 0, nullptr) != 0 || ::syscall(SYS_setresgid, 0, 0, 0) != 0 ||
      ::syscall(SYS_setresuid, 0, 0, 0) != 0) {
    return fail(Error::from_errno("become root inside"));
  }
  setup.walls.add(Wall::kUidSlice);
  return {};
}

Result<> send_hello(Setup& setup) {
  // The launcher needs this namespace for idmapped mounts of the layers.
  const UniqueFd userns(::open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC));
  if (!userns) return fail(Error::from_errno("open own user namespace"));
  const int fds[] = {userns.get()};
  return send_message(setup.launcher.get(), wire::encode(wire::PlanMessage(wire::SandboxHello{})),
                      fds);
}

Result<> set_host_name(Setup& setup) {
  setup.walls.add(Wall::kPidNamespace);
  setup.walls.add(Wall::kMountNamespace);
  setup.walls.add(Wall::kIpcNamespace);
  if (::sethostname(kHostName.data(), kHostName.size()) != 0 || ::setdomainname("", 0) != 0) {
    return fail(Error::from_errno("set host name"));
  }
  setup.walls.add(Wall::kUtsNamespace);
  return {};
}

Result<> bring_loopback_up(Setup& setup) {
  TRY_OK(errno_result("bring loopback up", sys::bring_loopback_up()));
  setup.walls.add(Wall::kNetNamespace);
  return {};
}

// Before any guest runs: afterwards only a process with CAP_NET_ADMIN here could change it.
Result<> prepare_network(Setup& setup) {
  if (setup.network == NetworkStage::kNone) return {};
  auto sockets = sys::prepare_own_network();
  if (!sockets) {
    // It was not asked for explicitly: the sandbox is reported to have none.
    if (setup.network == NetworkStage::kPrepared) return {};
    return fail(std::move(sockets.error()));
  }
  setup.sockets.emplace(std::move(*sockets));
  return setup.network == NetworkStage::kUp ? sys::raise_own_network() : Result<>();
}

Result<> receive_basics(Setup& setup) {
  TRY(Received received,
      receive_message(setup.launcher.get(), wire::kMaxPlanMessage, kMaxPassedFds));
  TRY(const wire::PlanMessage message, wire::decode_plan_message(received.bytes));
  const auto* basics = std::get_if<wire::SandboxBasics>(&message);
  if (basics == nullptr || received.fds.size() != 1u + basics->cgroups) {
    return fail(Errc::kProtocol, "the launcher's first message is not SandboxBasics");
  }
  setup.network = basics->network;
  setup.shares = basics->shares;
  setup.reusable = basics->reusable;
  setup.dev = std::move(received.fds.front());
  setup.cgroups.assign(std::make_move_iterator(received.fds.begin() + 1),
                       std::make_move_iterator(received.fds.end()));
  return {};
}

Result<> receive_setup_plan(Setup& setup) {
  TRY(Received received,
      receive_message(setup.launcher.get(), wire::kMaxPlanMessage, kMaxPassedFds));
  TRY(wire::PlanMessage message, wire::decode_plan_message(received.bytes));
  auto* plan = std::get_if<wire::SandboxPlan>(&message);
  const std::size_t upper = plan != nullptr && plan->session ? 1 : 0;
  const std::size_t scratch = setup.reusable ? wire::kDescriptorsOfAScratch : 0;
  if (plan == nullptr ||
      received.fds.size() != kFirstMountFd + upper + scratch + plan->mounts.size()) {
    return fail(Errc::kProtocol, "the launcher's second message is not a SandboxPlan");
  }
  setup.plan = std::move(*plan);
  setup.mounts = std::move(received.fds);
  if (setup.plan.session) {
    setup.upper = std::move(setup.mounts[kFirstMountFd]);
    setup.mounts.erase(setup.mounts.begin() + kFirstMountFd);
  }
  const auto first = setup.mounts.begin() + kFirstMountFd;
  const auto last = first + static_cast<std::ptrdiff_t>(scratch);
  setup.scratch.assign(std::make_move_iterator(first), std::make_move_iterator(last));
  setup.mounts.erase(first, last);
  return {};
}

Result<> attach_root(Setup& setup) {
  TRY_OK(attach(setup.mounts[kRootFd].get(), kStage));
  return attach(setup.mounts[kUsrFd].get(), std::string(kStage) + "/usr");
}

Result<> attach_dev(Setup& setup) { return attach(setup.dev.get(), "/dev"); }

// Its terminals come out of one table of the whole host. Without gid=: the kernel would show that
// group in /proc/mounts, and by its number on the host.
Result<> mount_devpts(Setup& setup) {
  const std::string options =
      "newinstance,ptmxmode=0666,mode=0620,max=" + std::to_string(setup.shares.terminals);
  if (::mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, options.c_str()) != 0) {
    return fail(Error::from_errno("mount devpts"));
  }
  setup.walls.add(Wall::kMinimalDev);
  return {};
}

// A mount point: created if it does not exist, component by component, and never through a
// link, so that it is where its name says.
Result<UniqueFd> mount_point(const GuestPath& path, bool directory) {
  UniqueFd at(::open(kStage, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at) return fail(Error::from_errno("open the new root"));
  std::string_view rest = std::string_view(path.str()).substr(1);
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const bool last = rest.empty();
    int kind = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    if (!last || directory) {
      kind |= O_DIRECTORY;
      if (::mkdirat(at.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
        return fail(Error::from_errno("make mount point " + path.str()));
      }
    } else {
      const UniqueFd made(::openat(at.get(), name.c_str(),
                                   O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644));
      if (!made && errno != EEXIST) {
        return fail(Error::from_errno("make mount point " + path.str()));
      }
    }
    UniqueFd next(::openat(at.get(), name.c_str(), kind));
    if (!next) return fail(Error::from_errno("open mount point " + path.str()));
    at = std::move(next);
  }
  return at;
}

Result<> attach_mounts(Setup& setup) {
  for (std::size_t i = 0; i < setup.plan.mounts.size(); ++i) {
    const int source = setup.mounts[kFirstMountFd + i].get();
    struct stat info {};
    if (::fstat(source, &info) != 0) return fail(Error::from_errno("stat a mount"));
    TRY(const UniqueFd target, mount_point(setup.plan.mounts[i], S_ISDIR(info.st_mode)));
    constexpr unsigned kBothByDescriptor = 0x00000044;  // F_EMPTY_PATH | T_EMPTY_PATH
    if (::syscall(SYS_move_mount, source, "", target.get(), "", kBothByDescriptor) != 0) {
      return fail(Error::from_errno("attach mount " + setup.plan.mounts[i].str()));
    }
  }
  return {};
}

Result<> join_setup_cgroups(Setup& setup) {
  for (const UniqueFd& cgroup : setup.cgroups) {
    // "0" is the writing thread itself, for which the kernel takes no system-wide lock.
    if (::write(cgroup.get(), "0", 1) != 1) return fail(Error::from_errno("join"));
  }
  setup.cgroups.clear();
  return {};
}

Result<> move_proc_and_dev_step(Setup& setup) {
  TRY_OK(move_proc_and_dev());
  return attach(setup.mounts[kShmFd].get(), "/stage/dev/shm");
}

Result<> hide_cgroups(Setup& setup) {
  // After joining, so that the cgroup the sandbox is in is the root of what it sees.
  if (::unshare(CLONE_NEWCGROUP) != 0) return fail(Error::from_errno("unshare cgroup namespace"));
  setup.walls.add(Wall::kCgroupNamespace);
  return {};
}

Result<> set_quotas(Setup& setup) {
  TRY_OK(set_namespace_quotas(setup.shares));
  setup.walls.add(Wall::kNamespaceQuotas);
  return {};
}

Result<> prepare_reuse(Setup& setup) {
  if (!setup.reusable) return {};
  TRY(setup.cleaner, CallCleaner::prepare());
  return {};
}

Result<> mask_proc(Setup& setup) {
  if (setup.mask != nullptr) {
    TRY_OK(mask_proc_below("", *setup.mask));
  } else {
    TRY_OK(mask_proc_below("", learn_proc_mask("")));
  }
  setup.walls.add(Wall::kMaskedProc);
  return {};
}

Result<> pivot_into_root(Setup& setup) {
  TRY_OK(pivot_into_stage());
  setup.walls.add(Wall::kPrivateRoot);
  return {};
}

Result<> make_scratch(Setup& setup) {
  return setup.reusable ? begin_scratch(std::exchange(setup.scratch, {})) : Result<>();
}

// The host's would tell which sandboxes are on one host, and when that has booted again.
Result<> replace_boot_id(Setup& setup) { return attach_boot_id(setup.mounts[kBootIdFd].get()); }

bool has_writable_mount(const wire::SandboxPlan& plan) {
  return std::any_of(plan.mount_is_writable.begin(), plan.mount_is_writable.end(),
                     [](std::uint8_t writable) { return writable != 0; });
}

Result<> empty_the_bounding_set(Setup& setup) {
  // No exec can regain what is not in the bounding set. The agent keeps its own capabilities: it
  // never executes anything itself.
  for (int capability = 0; capability <= 63; ++capability) {
    // Root inside has these, unless it can write to a directory of the host, where it must not
    // leave a file with capabilities.
    const bool stays = setup.plan.session && is_session_capability(capability) &&
                       !(capability == CAP_SETFCAP && has_writable_mount(setup.plan));
    if (stays) continue;
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      if (errno == EINVAL) break;  // past the last one this kernel has
      return fail(Error::from_errno("drop capability"));
    }
  }
  return {};
}

Result<> prepare_landlock(Setup& setup) {
  if (setup.plan.session) return {};  // sudo and package managers write everywhere
  setup.landlock_abi = sys::landlock_abi();
  if (setup.landlock_abi == 0) return {};
  sys::LandlockPaths paths;
  paths.readable = {"/"};
  paths.writable = {"/home", "/tmp", "/var/tmp", "/dev/shm"};
  // An image's own user owns any directories that the image gives it.
  if (setup.plan.image) paths.writable = {"/"};
  paths.devices = {"/dev"};
  for (std::size_t i = 0; i < setup.plan.mounts.size(); ++i) {
    if (setup.plan.mount_is_writable[i] != 0) paths.writable.push_back(setup.plan.mounts[i].str());
  }
  TRY(setup.landlock, sys::make_landlock_ruleset(setup.landlock_abi, paths));
  setup.walls.add(Wall::kLandlock);
  return {};
}

[[noreturn]] void give_up(const Setup& setup, const std::string& step, const Error& error) {
  const wire::SandboxFailed failed{step + ": " + error.message(), error.sys_errno()};
  (void)send_message(setup.launcher.get(), wire::encode(wire::PlanMessage(failed)));
  ::_exit(1);
}

struct SetupStep {
  const char* name;
  Result<> (*run)(Setup&);
};

// The order is the design; each step may rely on all those above it.
constexpr SetupStep kSetupSteps[] = {
    {"map users", wait_for_users},
    {"become root inside", become_root_inside},
    {"send hello", send_hello},  // the launcher builds the mounts meanwhile
    {"receive the basics", receive_basics},
    {"join cgroups",
     join_setup_cgroups},  // from here on what it does and forks is counted and bounded
    {"hide cgroups", hide_cgroups},
    {"set the host name", set_host_name},
    {"bring loopback up", bring_loopback_up},
    {"prepare the network", prepare_network},
    {"make mounts private", [](Setup&) { return make_mounts_private(); }},
    {"mount proc", [](Setup&) { return mount_proc(nullptr); }},
    {"prepare reuse", prepare_reuse},  // while its mount may still count as a namespace
    {"set quotas", set_quotas},        // while /proc/sys is still writable; no namespace after this
    {"bound socket buffers", [](Setup&) { return bound_socket_buffers(); }},
    {"attach /dev", attach_dev},
    {"mask proc", mask_proc},  // with the empty /dev/pts
    {"mount devpts", mount_devpts},
    {"receive the plan", receive_setup_plan},
    {"replace the boot id", replace_boot_id},  // upon the masked /proc
    {"attach the root", attach_root},
    {"move /proc and /dev", move_proc_and_dev_step},
    {"attach mounts", attach_mounts},
    {"pivot into the root", pivot_into_root},
    {"make the scratch", make_scratch},  // before Landlock's rules, which are of its directories
    {"empty the bounding set", empty_the_bounding_set},
    {"prepare landlock", prepare_landlock},
};

// What a zygote's child needs to join: this sandbox's namespaces, and the descriptors made for it.
Result<std::vector<UniqueFd>> join_descriptors(const Setup& setup,
                                               RuntimeDescriptors& descriptors) {
  std::vector<UniqueFd> fds;
  for (const char* name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    fds.emplace_back(::open((std::string("/proc/self/ns/") + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fds.back()) return fail(Error::from_errno(std::string("open namespace ") + name));
  }
  for (UniqueFd& one : descriptors.theirs) fds.push_back(std::move(one));
  if (setup.landlock) {
    fds.emplace_back(::fcntl(setup.landlock.get(), F_DUPFD_CLOEXEC, 3));
    if (!fds.back()) return fail(Error::from_errno("copy the ruleset"));
  }
  return fds;
}

// Tells the launcher that the walls are up. A zygote then forks a runtime into the sandbox; one
// that is started here is running already.
Result<> report_sealed(Setup& setup, ServePlan& serve_plan) {
  std::vector<UniqueFd> joining;
  if (setup.plan.runtime != RuntimeKind::kNone) {
    TRY(RuntimeDescriptors descriptors, make_runtime_descriptors(setup.own_slice));
    if (setup.plan.runtime == RuntimeKind::kPython) {
      TRY(joining, join_descriptors(setup, descriptors));
      serve_plan.runtime = std::move(descriptors.ours);
      serve_plan.runtime->filters = kJoinedFilters;
    } else {
      ExecSpec exec;
      exec.argv = setup.plan.runtime_argv;
      exec.env = setup.plan.runtime_env;
      if (exec.argv.empty()) return fail(Errc::kProtocol, "a runtime without a program");
      StartOutcome outcome =
          start_runtime(serve_plan, exec, std::move(descriptors), StartAhead::kYes);
      if (!outcome.failure.step.empty()) {
        return fail(Error::from_errno(outcome.failure.step, outcome.failure.error));
      }
      Runtime& runtime = serve_plan.runtime.emplace();
      runtime.pid = outcome.started.pid;
      runtime.job = std::move(outcome.started.job);
      runtime.socket = std::move(outcome.started.socket);
      runtime.client_ends = std::move(outcome.started.client_ends);
    }
  }
  std::vector<int> fds;
  if (setup.sockets) fds = {setup.sockets->connections.get(), setup.sockets->names.get()};
  for (const UniqueFd& fd : joining) fds.push_back(fd.get());
  const wire::SandboxSealed sealed{setup.walls, setup.sockets.has_value()};
  TRY_OK(send_message(setup.launcher.get(), wire::encode(wire::PlanMessage(sealed)), fds));
  setup.sockets.reset();  // from here on only the gateway has them
  return {};
}

// Keeps the connection to the launcher: it provides warm contexts, and the session ends with it.
[[noreturn]] void run_session_agent(Setup& setup, TakenSandbox taken) {
  SessionPlan plan;
  plan.link = std::move(taken.link);
  plan.launcher = std::move(setup.launcher);
  plan.upper = std::move(setup.upper);
  plan.limits = taken.limits;
  plan.shares = setup.shares;
  plan.memory_is_bounded = setup.plan.memory_is_bounded;
  plan.change_user = setup.own_slice;
  // A setuid file in a directory of the host would be setuid there.
  const auto& writable = setup.plan.mount_is_writable;
  const bool reaches_out = std::find(writable.begin(), writable.end(), 1) != writable.end();
  plan.setuid_files = reaches_out ? SetuidFiles::kRefused : SetuidFiles::kAllowed;
  ::_exit(serve_session(std::move(plan)));
}

}  // namespace

void run_sandbox_init(UniqueFd go, UniqueFd setup_socket, bool own_slice, const ProcMask* mask) {
  ::signal(SIGCHLD, SIG_DFL);
  Setup setup;
  setup.go = std::move(go);
  setup.launcher = std::move(setup_socket);
  setup.own_slice = own_slice;
  setup.mask = mask;
  for (const SetupStep& step : kSetupSteps) {
    if (auto done = step.run(setup); !done) give_up(setup, step.name, done.error());
  }
  // These are set in every program's own start and stop it if they fail; see guest_child.cc. A
  // runtime that was forked is looked at from outside; see runtime.cc.
  for (const Wall wall : {Wall::kSeccomp, Wall::kRlimits, Wall::kScrubbedEnvironment}) {
    setup.walls.add(wall);
  }
  if (setup.plan.session) {
    setup.walls.add(Wall::kBoundedCapabilities);
  } else {
    setup.walls.add(Wall::kNoCapabilities);
    setup.walls.add(Wall::kNoNewPrivileges);
  }
  setup.mounts.clear();
  ServePlan serve_plan;
  serve_plan.limits = setup.plan.limits;
  serve_plan.shares = setup.shares;
  serve_plan.memory_is_bounded = setup.plan.memory_is_bounded;
  serve_plan.cpu_time_is_counted = setup.plan.cpu_time_is_counted;
  serve_plan.change_user = own_slice;
  // The ruleset is needed for a runtime that is started before the sandbox is taken.
  if (setup.landlock) {
    serve_plan.landlock.reset(::fcntl(setup.landlock.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  }
  if (auto reported = report_sealed(setup, serve_plan); !reported) {
    give_up(setup, "make a runtime ready", reported.error());
  }
  setup.landlock.reset();
  if (setup.reusable) {
    const ReusableSandbox sandbox{setup.launcher.get(), own_slice, *setup.cleaner,
                                  [&setup]() -> Result<UniqueFd> {
                                    TRY_OK(prepare_landlock(setup));
                                    return std::move(setup.landlock);
                                  }};
    auto served = serve_calls(sandbox, std::move(serve_plan));
    if (!served) give_up(setup, "clean the sandbox", served.error());
    ::_exit(0);
  }
  auto taken = wait_until_taken(setup.launcher.get(), serve_plan.runtime, own_slice);
  if (!taken) ::_exit(0);
  if (taken->network_up && !sys::raise_own_network()) ::_exit(1);
  if (setup.plan.session) run_session_agent(setup, std::move(*taken));
  setup.launcher.reset();
  serve_plan.link = std::move(taken->link);
  serve_plan.limits = taken->limits;
  ::_exit(serve(std::move(serve_plan)));
}

}  // namespace glovebox::agent
