#include "supervisor/stop_serving.h"

#include <poll.h>
#include <signal.h>

#include <cstdio>

#include "supervisor/supervisor.h"

namespace glovebox::supervisor {
namespace {

// The supervisor stops the server, which has a timeout of its own, then the launcher and the
// gateway.
Result<> stop_supervisor(const Process& process, const config::Settings& settings) {
  if (auto sent = send_signal(process, SIGTERM); !sent) {
    return fail(std::move(sent.error()).context("stop process " + std::to_string(process.pid)));
  }
  const auto limit = settings.stop_timeout + std::chrono::seconds(60);
  pollfd ended{process.pidfd.get(), POLLIN, 0};
  const auto deadline = Clock::now() + limit;
  while (::poll(&ended, 1, 1000) <= 0) {
    if (Clock::now() > deadline) {
      return fail(Errc::kTimeout,
                  "process " + std::to_string(process.pid) + " has not stopped in time");
    }
  }
  std::printf("stopped\n");
  return {};
}

}  // namespace

Result<> stop_serving(config::LoadedSettings config, DataDir data, const std::string& version) {
  TRY(const bool is_ours, data.try_lock());
  if (!is_ours) {
    const auto holder = find_lock_holder(data.lock_fd());
    if (!holder)
      return fail(Errc::kUnavailable,
                  "another `glovebox serve` is starting or stopping; try again");
    return stop_supervisor(*holder, config.settings);
  }
  // No supervisor is running, and while we hold the lock none will start: stop what is left.
  Supervisor successor(std::move(config), std::move(data), version);
  if (!successor.adopt()) {
    std::printf("nothing was running\n");
    return {};
  }
  TRY_OK(successor.run(AfterStart::kStop));
  std::printf("stopped\n");
  return {};
}

}  // namespace glovebox::supervisor
