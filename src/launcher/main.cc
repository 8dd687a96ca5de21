// glovebox-launcher: the only program of ours with privileges. It clones namespaces, mounts, and
// writes cgroups, and does so for typed, bounded messages only; it parses nothing of a guest's or
// a network client's.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "base/log.h"
#include "launcher/host_layer.h"
#include "launcher/policy.h"
#include "launcher/sandbox_maker.h"
#include "launcher/server.h"
#include "launcher/state_dir.h"
#include "probe/cgroup_layout.h"
#include "sys/clone.h"

namespace glovebox::launcher {
namespace {

constexpr const char* kHelp =
    "usage: glovebox-launcher --listen [PATH]   serve clients on a socket (default: "
    "/run/glovebox/launcher.sock)\n"
    "       glovebox-launcher --client-fd N     serve one client that is connected already, then "
    "end\n"
    "Started by `glovebox run` or by systemd; see docs/architecture.md.\n";

struct Options {
  int client_fd = -1;
  std::string listen;
  std::string policy = "/etc/glovebox/policy.toml";
};

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
          .v1_cpuacct = v1("cpuacct")};
}

std::string agent_beside_us() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  const std::string path(self, size > 0 ? static_cast<std::size_t>(size) : 0);
  return path.substr(0, path.rfind('/')) + "/glovebox-agent";
}

// What is used in user namespaces is bounded by what their maker may use: for the nursery that is
// us, and the bound of each sandbox is the broker's to set.
void lift_own_limits() {
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  for (const auto resource : {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK, RLIMIT_NPROC}) {
    (void)::setrlimit(resource, &none);
  }
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &files);
  }
}

Result<> run(const Options& options) {
  const bool rootless = ::geteuid() != 0;
  const bool shared = !options.listen.empty();
  ::umask(022);
  TRY(const Policy policy, load_policy(options.policy));
  const sys::CgroupRoots roots = cgroup_roots();  // what this kernel can do
  const std::string base = default_state_base();
  sweep_dead_launchers(base, roots);  // what a crashed predecessor left
  TRY(StateDir state, StateDir::claim(base));
  MakerConfig config;
  config.agent_path = agent_beside_us();
  config.layers_dir = default_layers_dir();
  config.rootless = rootless;
  config.sandboxes_at_once = shared ? policy.max_sandboxes : 1;
  UniqueFd listener;
  if (shared) {
    TRY(listener, listen_at(options.listen));
  }
  if (rootless) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a process sandbox leaves behind is ours to end
  } else {
    lift_own_limits();
    TRY_OK(sys::keep_capabilities_across_uid_changes());
  }
  const std::uint32_t most = config.sandboxes_at_once;
  SandboxMaker maker(std::move(config), policy, roots, std::move(state));
  const auto served =
      serve_clients(std::move(maker), most, std::move(listener), UniqueFd(options.client_fd));
  if (shared) ::unlink(options.listen.c_str());
  return served;
}

int usage_error(const std::string& what) {
  std::fprintf(stderr, "glovebox-launcher: %s\n%s", what.c_str(), kHelp);
  return 2;
}

int run_main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_value = i + 1 < argc && argv[i + 1][0] != '-';
    if (word == "--help") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (word == "--listen") {
      options.listen = has_value ? argv[++i] : default_state_base() + "/launcher.sock";
    } else if (word == "--client-fd" && has_value) {
      options.client_fd = std::atoi(argv[++i]);
      if (options.client_fd < 3) return usage_error("--client-fd takes a descriptor above 2");
    } else if (word == "--policy" && has_value) {
      options.policy = argv[++i];
    } else {
      return usage_error("unknown option '" + std::string(word) + "'");
    }
  }
  if (options.listen.empty() && options.client_fd < 0) return usage_error("nothing to serve");
  if (!options.listen.empty()) {
    ::mkdir(default_state_base().c_str(), 0711);
  }
  if (auto done = run(options); !done) {
    std::fprintf(stderr, "glovebox-launcher: %s\n", done.error().message().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace glovebox::launcher

int main(int argc, char** argv) {
  try {
    return glovebox::launcher::run_main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-launcher: %s\n", error.what());
    return 70;
  }
}
