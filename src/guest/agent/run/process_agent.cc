#include "guest/agent/run/process_agent.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd_message.h"
#include "guest/agent/run/process_home.h"
#include "guest/agent/run/serve.h"
#include "sys/landlock.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {
namespace {

constexpr int kAbiWithScopedSignals = 6;

Result<wire::SandboxPlan> receive_process_plan(int launcher) {
  TRY(const Received received, receive_message(launcher, wire::kMaxPlanMessage, 0));
  TRY(wire::PlanMessage message, wire::decode_plan_message(received.bytes));
  auto* plan = std::get_if<wire::SandboxPlan>(&message);
  if (plan == nullptr || plan->home.empty())
    return fail(Errc::kProtocol, "the launcher's message is not a plan for the process engine");
  return std::move(*plan);
}

// Readable: programs and their libraries, but no configuration, no homes, no /proc. Writable: its
// own directory.
Result<UniqueFd> make_ruleset(int abi, const std::string& home) {
  sys::LandlockPaths paths;
  paths.readable = {"/usr",
                    "/bin",
                    "/sbin",
                    "/lib",
                    "/lib32",
                    "/lib64",
                    "/etc/ld.so.cache",
                    "/etc/ld.so.conf",
                    "/etc/ld.so.conf.d",
                    "/etc/alternatives",
                    "/etc/localtime",
                    "/etc/python3",
                    "/etc/python3.11",
                    "/etc/ssl/certs",
                    "/etc/ssl/openssl.cnf",
                    "/etc/mime.types",
                    "/etc/fonts"};
  paths.writable = {home};
  paths.devices = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
  paths.deny_tcp = true;
  return sys::make_landlock_ruleset(abi, paths);
}

Result<ServePlan> shut_in(const wire::SandboxPlan& plan, WallSet& walls) {
  const int abi = sys::landlock_abi();
  if (abi == 0) {
    return fail(
        Errc::kUnsupported,
        "this kernel has no Landlock, without which a guest of the process engine could read "
        "every file that its user can read");
  }
  ServePlan serve_plan;
  TRY(const UniqueFd ruleset, make_ruleset(abi, plan.home));
  serve_plan.landlock.reset(::fcntl(ruleset.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return fail(Error::from_errno("become subreaper"));
  serve_plan.limits = plan.limits;
  serve_plan.memory_is_bounded = plan.memory_is_bounded;
  serve_plan.cpu_time_is_counted = plan.cpu_time_is_counted;
  serve_plan.change_user = false;
  // A guest must not be able to kill its own agent or any other process.
  const bool signals_kept_in = abi >= kAbiWithScopedSignals;
  serve_plan.process = ProcessEngine{
      .home = plan.home,
      .own_uid = plan.own_uid,
      .filter = signals_kept_in ? ExtraFilter::kProcess : ExtraFilter::kProcessAndSignals,
      .children = open_list_of_children()};
  if (!serve_plan.process->children) return fail(Error::from_errno("open list of children"));
  // The agent enters the ruleset as well: what it opens for the client, even through a guest's
  // symlink, is then no more than the guest could open. Each program enters a nested one, and
  // cannot signal the agent.
  if (const int error = sys::enter_landlock(serve_plan.landlock.get()); error != 0) {
    return fail(Error::from_errno("enter landlock", error));
  }
  for (const Wall wall : {Wall::kNoCapabilities, Wall::kNoNewPrivileges, Wall::kSeccomp,
                          Wall::kLandlock, Wall::kRlimits, Wall::kScrubbedEnvironment}) {
    walls.add(wall);
  }
  if (plan.own_uid) walls.add(Wall::kUidSlice);
  return serve_plan;
}

}  // namespace

int run_process_agent(int launcher_socket, int link_socket) {
  UniqueFd launcher(launcher_socket);
  UniqueFd link(link_socket);
  ::fcntl(launcher.get(), F_SETFD, FD_CLOEXEC);
  ::fcntl(link.get(), F_SETFD, FD_CLOEXEC);
  WallSet walls;
  auto plan = receive_process_plan(launcher.get());
  if (!plan) return 1;
  auto serve_plan = shut_in(*plan, walls);
  if (!serve_plan) {
    const wire::SandboxFailed failed{serve_plan.error().message(), serve_plan.error().sys_errno()};
    (void)send_message(launcher.get(), wire::encode(wire::PlanMessage(failed)));
    return 1;
  }
  if (!send_message(launcher.get(), wire::encode(wire::PlanMessage(wire::SandboxSealed{walls}))))
    return 1;
  launcher.reset();
  serve_plan->link = std::move(link);
  return serve(std::move(*serve_plan));
}

}  // namespace glovebox::agent
