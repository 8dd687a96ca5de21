// glovebox-launcher: the only privileged program of Glovebox. It clones namespaces, mounts, and
// writes cgroups. It accepts only typed, bounded messages, and parses nothing that a guest or a
// network client has sent.
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "base/standard_streams.h"
#include "launcher/run_launcher.h"
#include "launcher/state_dir.h"

namespace glovebox::launcher {
namespace {

constexpr const char* kHelp =
    "usage: glovebox-launcher --listen [PATH]   serve clients on a socket (default: "
    "/run/glovebox/launcher.sock)\n"
    "       glovebox-launcher --client-fd N     serve one client that is connected already, then "
    "exit\n"
    "       --policy FILE --templates DIR       use these instead of those in /etc/glovebox\n"
    "       --zygote-max-age SECONDS --zygote-max-forks N   when a zygote is replaced\n"
    "       --zygote-memory MB                  memory of all zygotes of templates made over HTTP, "
    "together\n"
    "       --sandboxes N                       sandboxes at once, within the policy's limit\n"
    "       --mounts-by-path                    clients of a private server may mount host paths\n"
    "       --end-with PID                      exit when this parent process exits\n"
    "Started by `glovebox run` or by systemd; see docs/architecture.md.\n";

std::string default_agent_path() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  const std::string path(self, size > 0 ? static_cast<std::size_t>(size) : 0);
  return path.substr(0, path.rfind('/')) + "/glovebox-agent";
}

int usage_error(const std::string& what) {
  std::fprintf(stderr, "glovebox-launcher: %s\n%s", what.c_str(), kHelp);
  return 2;
}

int run_main(int argc, char** argv) {
  LauncherOptions options;
  options.agent_path = default_agent_path();
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc && argv[i + 1][0] != '-';
    if (option == "--help") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (option == "--listen") {
      options.listen = has_value ? argv[++i] : default_state_base() + "/launcher.sock";
    } else if (option == "--client-fd" && has_value) {
      options.client_fd = std::atoi(argv[++i]);
      if (options.client_fd < 3) return usage_error("--client-fd needs a descriptor above 2");
    } else if (option == "--policy" && has_value) {
      options.policy = argv[++i];
    } else if (option == "--templates" && has_value) {
      options.templates = argv[++i];
    } else if (option == "--zygote-max-age" && has_value) {
      options.zygotes.max_age = std::chrono::seconds(std::atoll(argv[++i]));
    } else if (option == "--zygote-max-forks" && has_value) {
      options.zygotes.max_forks = static_cast<std::uint64_t>(std::atoll(argv[++i]));
    } else if (option == "--sandboxes" && has_value) {
      options.sandboxes = static_cast<std::uint32_t>(std::atoi(argv[++i]));
    } else if (option == "--zygote-memory" && has_value) {
      options.zygotes.own_memory_bytes = static_cast<std::uint64_t>(std::atoll(argv[++i])) << 20;
    } else if (option == "--mounts-by-path") {
      options.mounts_by_path = true;
    } else if (option == "--end-with" && has_value) {
      options.owner = std::atoi(argv[++i]);
    } else {
      return usage_error("unknown option '" + std::string(option) + "'");
    }
  }
  if (options.listen.empty() && options.client_fd < 0)
    return usage_error("--listen or --client-fd is required");
  if (!options.listen.empty()) {
    ::mkdir(default_state_base().c_str(), 0711);
  }
  if (auto done = run_launcher(options); !done) {
    std::fprintf(stderr, "glovebox-launcher: %s\n", done.error().message().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace glovebox::launcher

int main(int argc, char** argv) {
  if (!glovebox::ensure_standard_streams()) return 125;
  try {
    return glovebox::launcher::run_main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-launcher: %s\n", error.what());
    return 70;
  }
}
