#include "guest/agent/init/sandbox_wait.h"

#include <poll.h>
#include <unistd.h>

#include "base/fd_message.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {
namespace {

// A new overlay has an empty dentry cache, and the first lookup of each name goes down to the disk.
// Nearly every program needs these names, so a waiting sandbox looks them up ahead.
void warm_dentry_cache() {
  for (const char* name :
       {"/bin/sh", "/usr/bin/python3", "/lib64/ld-linux-x86-64.so.2", "/etc/ld.so.cache",
        "/etc/ld.so.preload", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/local/bin", "/home/user"}) {
    (void)!::access(name, F_OK);
  }
}

bool send_to_launcher(int launcher, const wire::PlanMessage& message) {
  return send_message(launcher, wire::encode(message)).has_value();
}

// Returns whether the launcher was told that the runtime is ready.
bool runtime_is_ready(int launcher, Runtime& runtime, bool change_user) {
  if (auto ready = await_ready(runtime, change_user); !ready) {
    (void)send_to_launcher(launcher, wire::SandboxFailed{"runtime: " + ready.error().message(),
                                                         ready.error().sys_errno()});
    return false;
  }
  return send_to_launcher(launcher, wire::RuntimeReady{});
}

}  // namespace

std::optional<TakenSandbox> wait_until_taken(int launcher, std::optional<Runtime>& runtime,
                                             bool change_user) {
  pollfd events[] = {{launcher, POLLIN, 0}, {runtime ? runtime->socket.get() : -1, POLLIN, 0}};
  if (::poll(events, 1, 0) == 0 && !runtime) warm_dentry_cache();
  bool ready = false;
  while (true) {
    if (::poll(events, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return std::nullopt;
    }
    if (events[1].revents != 0) {
      // Once it is ready it has nothing more to say: it has closed its end, so it has died.
      if (ready || !runtime_is_ready(launcher, *runtime, change_user)) return std::nullopt;
      ready = true;
    }
    if (events[0].revents == 0) continue;
    auto received = receive_message(launcher, wire::kMaxPlanMessage, 1);
    if (!received || received->fds.size() != 1) return std::nullopt;
    const auto message = wire::decode_plan_message(received->bytes);
    const auto* taken = message ? std::get_if<wire::SandboxTaken>(&*message) : nullptr;
    if (taken == nullptr) return std::nullopt;
    return TakenSandbox{std::move(received->fds[0]), taken->limits, taken->network_up};
  }
}

}  // namespace glovebox::agent
