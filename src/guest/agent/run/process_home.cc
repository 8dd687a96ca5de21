#include "guest/agent/run/process_home.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace glovebox::agent {
namespace {

constexpr std::string_view kGuestHome = "/home/user";

}  // namespace

std::string path_in_home(std::string_view path, std::string_view home) {
  const bool inside = path.substr(0, kGuestHome.size()) == kGuestHome &&
                      (path.size() == kGuestHome.size() || path[kGuestHome.size()] == '/');
  if (!inside) return std::string(path);
  return std::string(home) + std::string(path.substr(kGuestHome.size()));
}

ExecSpec with_home(ExecSpec exec, std::string_view home) {
  for (std::string& argument : exec.argv) argument = path_in_home(argument, home);
  for (std::string& variable : exec.env) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    variable = variable.substr(0, equals + 1) + path_in_home(variable.substr(equals + 1), home);
  }
  exec.workdir = path_in_home(exec.workdir, home);
  // There is no /tmp to write to.
  for (std::string& variable : exec.env) {
    if (variable == "TMPDIR=/tmp") variable = "TMPDIR=" + std::string(home);
  }
  return exec;
}

UniqueFd open_list_of_children() {
  return UniqueFd(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC));
}

void kill_descendants(int list_of_children) {
  // Each round kills the current children; their children become ours and are killed in the next
  // round. Bounded (two seconds without an end of any of them), because a fork bomb could outrun
  // this loop; the cgroup ends that.
  for (int round = 0; round < 2000; ++round) {
    char children[4096];
    const ssize_t size = ::pread(list_of_children, children, sizeof children - 1, 0);
    if (size <= 0) return;
    children[size] = '\0';
    // Numbers separated by blanks. No iostream: it would pull in locales, which every start of the
    // agent would pay for.
    bool any = false;
    const char* at = children;
    char* end = nullptr;
    for (long pid = std::strtol(at, &end, 10); end != at; pid = std::strtol(at, &end, 10)) {
      if (pid > 1) ::kill(static_cast<pid_t>(pid), SIGKILL);
      any = true;
      at = end;
    }
    if (!any) return;
    bool is_one_gone = false;
    while (::waitpid(-1, nullptr, WNOHANG) > 0) is_one_gone = true;
    // A killed process ends when it gets a CPU, which takes a while on a busy host; until then its
    // children are not ours. Without this all rounds would be over before that.
    if (!is_one_gone) ::usleep(1000);
  }
}

}  // namespace glovebox::agent
