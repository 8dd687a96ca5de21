#include "launcher/run_launcher.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "launcher/layers/host_layer.h"
#include "launcher/policy/policy.h"
#include "launcher/sandbox/sandbox_maker.h"
#include "launcher/server/listener.h"
#include "launcher/server/server.h"
#include "launcher/state_dir.h"
#include "probe/cgroup_layout.h"
#include "sys/clone.h"

namespace glovebox::launcher {
namespace {

sys::CgroupRoots cgroup_roots() {
  const probe::CgroupLayout layout = probe::detect_cgroup_layout();
  const auto v1 = [&](const char* controller) {
    const auto found = layout.v1_mounts.find(controller);
    return found != layout.v1_mounts.end() ? found->second : std::string();
  };
  return {.v2 = layout.v2_mount,
          .v2_controls = layout.usable_v2(),
          .v1_memory = v1("memory"),
          .v1_pids = v1("pids"),
          .v1_cpu = v1("cpu"),
          .v1_cpuacct = v1("cpuacct"),
          .v1_freezer = layout.usable_v2() ? std::string() : v1("freezer")};
}

// The kernel also counts what is used in a user namespace against its creator, which is the
// launcher for nurseries; the broker sets the limits of each sandbox.
void raise_own_limits() {
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  for (const auto resource : {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK, RLIMIT_NPROC}) {
    (void)::setrlimit(resource, &none);
  }
  // The caller's shell may have lowered these for its own programs. A session needs about ten
  // descriptors.
  constexpr rlim_t kDescriptors = 65'536;
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_max < kDescriptors) {
    descriptors = {kDescriptors, kDescriptors};
    (void)::setrlimit(RLIMIT_NOFILE, &descriptors);
  }
  for (const auto resource : {RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(resource, &limit);
  }
  ::signal(SIGXFSZ, SIG_IGN);  // so that a write beyond the limit returns an error
}

}  // namespace

Result<> run_launcher(const LauncherOptions& options) {
  const bool rootless = ::geteuid() != 0;
  const bool shared = !options.listen.empty();
  ::umask(022);
  TRY(Policy policy, load_policy(options.policy));
  policy.mounts_by_path = options.mounts_by_path;
  if (options.sandboxes != 0) {
    policy.max_sandboxes = std::min(policy.max_sandboxes, options.sandboxes);
  }
  const sys::CgroupRoots roots = cgroup_roots();
  const std::string base = default_state_base();
  sweep_dead_launchers(base, roots);
  TRY(StateDir state, StateDir::claim(base));
  MakerConfig config;
  config.agent_path = options.agent_path;
  config.layers_dir = default_layers_dir();
  config.templates_dir = options.templates;
  config.zygotes = options.zygotes;
  config.rootless = rootless;
  config.sandboxes_at_once = shared ? policy.max_sandboxes : 1;
  UniqueFd listener;
  if (shared) {
    TRY(listener, listen_at(options.listen));
  }
  if (rootless) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of a process sandbox become our children
  } else {
    raise_own_limits();
    TRY_OK(sys::keep_capabilities_across_uid_changes());
  }
  const std::uint32_t most = config.sandboxes_at_once;
  SandboxMaker maker(std::move(config), policy, roots, std::move(state));
  const auto served =
      serve_clients(maker, most, std::move(listener), UniqueFd(options.client_fd), options.owner);
  if (shared) ::unlink(options.listen.c_str());
  return served;
}

}  // namespace glovebox::launcher
