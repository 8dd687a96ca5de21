#include "sessions/processes/oom_kill_counter.h"

#include <csignal>

#include "model/outcome.h"

namespace glovebox::sessions {

asio::awaitable<void> OomKillCounter::open(SandboxId id) {
  if (seen_.contains(id)) co_return;
  if (seen_.size() >= kMany && seen_.size() >= 2 * service_.sessions().size()) {
    std::erase_if(seen_,
                  [this](const auto& one) { return service_.find_session(one.first) == nullptr; });
  }
  const auto usage = co_await service_.measure_session(id);
  // No kernel counter is available: only the agent's report remains.
  if (usage) seen_.emplace(id, usage->oom_kills);
}

asio::awaitable<bool> OomKillCounter::was_killed(SandboxId id, wire::ProcessEnd end) {
  if (end.oom_killed) co_return true;
  // A shell whose last command was killed exits with 137 and has no signal itself.
  if (end.signal != SIGKILL && end.code != kExitKilled) co_return false;
  const auto usage = co_await service_.measure_session(id);
  const auto seen = seen_.find(id);
  if (!usage || seen == seen_.end() || usage->oom_kills <= seen->second) co_return false;
  seen->second = usage->oom_kills;
  co_return true;
}

}  // namespace glovebox::sessions
