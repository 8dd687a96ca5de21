#include "probe/cgroups/user_scope.h"

#include <poll.h>
#include <unistd.h>

#include <cstdlib>

#include "probe/cgroups/own_cgroups.h"
#include "sys/systemd_scope.h"

namespace glovebox::probe {
namespace {

std::string systemd_socket() {
  const char* runtime_dir = std::getenv("XDG_RUNTIME_DIR");
  return user_systemd_socket(runtime_dir != nullptr ? runtime_dir : "");
}

}  // namespace

bool has_user_systemd() { return !systemd_socket().empty(); }

Result<> enter_user_scope(const CgroupLayout& layout) {
  const std::string socket = systemd_socket();
  if (socket.empty()) return fail(Errc::kUnavailable, "no systemd runs for this user");
  const std::string unit = std::string(kScopePrefix) + std::to_string(::getpid()) + ".scope";
  TRY_OK(sys::start_scope(socket, unit, ::getpid()));
  // systemd moves the process after its answer; the kernel has no event for it.
  constexpr int kTries = 200;
  constexpr int kStepMs = 5;
  for (int i = 0; i < kTries; ++i) {
    if (detect_own_cgroups(layout).v2.ends_with("/" + unit)) return {};
    ::poll(nullptr, 0, kStepMs);
  }
  return fail(Errc::kTimeout, "the user's systemd did not move this process into " + unit);
}

}  // namespace glovebox::probe
