#include "launcher/run_launcher.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "launcher/delegated_cgroups.h"
#include "launcher/layers/host_layer.h"
#include "launcher/orphan_sweep.h"
#include "launcher/policy/policy.h"
#include "launcher/sandbox/sandbox_maker.h"
#include "launcher/server/event_loop.h"
#include "launcher/server/listener.h"
#include "launcher/server/server.h"
#include "launcher/state_dir.h"
#include "probe/cgroups/cgroup_layout.h"
#include "probe/host_limits/host_totals.h"
#include "probe/host_limits/limits.h"
#include "probe/host_limits/shares.h"
#include "probe/kernel_text.h"
#include "sys/clone.h"

namespace glovebox::launcher {
namespace {

// Of a sandbox on a host with few processes: an interpreter with some threads.
constexpr std::uint32_t kLeastPids = 32;

sys::CgroupRoots cgroup_roots(std::string_view mountinfo) {
  const probe::CgroupLayout layout = probe::detect_cgroup_layout(mountinfo);
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

// Of a launcher that has many sandboxes: a private launcher's one is bounded by its own limits.
sys::CgroupTotals totals_of_host(const Policy& policy) {
  const probe::HostSizes sizes = probe::probe_host_sizes(probe::detect_cgroup_layout());
  sys::CgroupTotals totals;
  totals.memory_bytes =
      policy.host_memory_bytes != 0 ? policy.host_memory_bytes : probe::memory_for_sandboxes(sizes);
  totals.pids = policy.host_pids != 0 ? policy.host_pids : probe::pids_for_sandboxes(sizes);
  totals.tenant_memory_bytes = totals.memory_bytes / 100 * policy.project_percent;
  // A half is for runs: a server never lets in more of them than have all their processes there
  // (node/pools/budget.h). Most of these are made in advance, for no tenant in particular.
  totals.tenant_pids = totals.pids / 2 * policy.project_percent / 100;
  return totals;
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

// Tables of the kernel that are too small for many sandboxes. What is in them is charged to the
// memory of the sandbox that fills them, so a larger one costs the host nothing. A read-only
// /proc/sys stays as it is; `glovebox doctor` says so.
void raise_host_tables() {
  for (const probe::TableSize& table : probe::sizes_to_carry_all(probe::read_host_tables())) {
    const std::string size = std::to_string(table.size);
    if (probe::write_text(probe::sysctl_path(table.sysctl), size) != 0) continue;
    log::info("raised a limit of the host", {{"sysctl", table.sysctl}, {"to", size}});
  }
}

}  // namespace

Result<> run_launcher(const LauncherOptions& options) {
  const bool rootless = ::geteuid() != 0;
  const bool shared = !options.listen.empty();
  ::umask(022);
  // A signal to stop waits until the event loop reads it: who is ended before that leaves a record
  // and cgroups behind.
  EventLoop::block_signals();
  TRY(Policy policy, load_policy(options.policy));
  policy.mounts_by_path = options.mounts_by_path;
  if (options.sandboxes != 0) {
    policy.max_sandboxes = std::min(policy.max_sandboxes, options.sandboxes);
  }
  const std::string mountinfo = probe::read_mountinfo();
  const sys::CgroupRoots roots =
      rootless ? delegated_cgroup_roots(shared) : cgroup_roots(mountinfo);
  const std::string base = default_state_base();
  sweep_orphaned_mounts(base, mountinfo);
  // A private launcher does so while the broker of its sandbox starts.
  std::function<void()> sweep = [base, roots] {
    sweep_dead_launchers(base, roots);
    sweep_orphans({.base = base, .homes = homes_below(base), .roots = roots});
  };
  if (shared) std::exchange(sweep, nullptr)();
  TRY(StateDir state, StateDir::claim(base));
  MakerConfig config;
  config.agent_path = options.agent_path;
  config.layers_dir = default_layers_dir();
  config.templates_dir = options.templates;
  config.zygotes = options.zygotes;
  config.rootless = rootless;
  config.sandboxes = shared ? Expected::kMany : Expected::kOne;
  UniqueFd listener;
  if (shared) {
    TRY(listener, listen_at(options.listen));
  }
  if (rootless) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of a process sandbox become our children
  } else {
    raise_own_limits();
    if (shared && policy.raise_host_limits) raise_host_tables();
    TRY_OK(sys::keep_capabilities_across_uid_changes());
  }
  const std::uint32_t most = shared ? policy.max_sandboxes : 1;
  config.read_shares = [sandboxes = policy.max_sandboxes] {
    return probe::shares_of(probe::read_host_tables(), sandboxes);
  };
  sys::CgroupParents parents(roots);
  if (shared) {
    const sys::CgroupTotals totals = totals_of_host(policy);
    TRY(parents, sys::CgroupParents::create(roots, state.cgroup_prefix(), totals));
    // Eight runs fit into their half, whatever they do.
    if (totals.pids != 0) {
      policy.max_pids = std::min(policy.max_pids, std::max(kLeastPids, totals.pids / 16));
    }
  }
  // After all that are there before the first sandbox. A private launcher has none yet.
  std::vector<UniqueFd> locked;
  if (shared) locked = lock_own_cgroups(roots, state.id());
  SandboxMaker maker(std::move(config), policy, roots, std::move(state), std::move(parents));
  const auto served = serve_clients(maker, most, std::move(listener), UniqueFd(options.client_fd),
                                    options.owner, std::move(sweep));
  if (shared) ::unlink(options.listen.c_str());
  return served;
}

}  // namespace glovebox::launcher
