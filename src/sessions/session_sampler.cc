#include "sessions/session_sampler.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/wall_clock.h"

namespace glovebox::sessions {
namespace {

SessionSample sample_of(const node::SessionUsage& usage) {
  return {.at_ms = wall_clock_ms(),
          .cpu_us = usage.cpu_us,
          .memory_bytes = usage.memory_bytes,
          .disk_bytes = usage.disk_bytes,
          .processes = usage.processes};
}

}  // namespace

void SessionSampler::start() { asio::co_spawn(io_, sample_loop(), asio::detached); }

void SessionSampler::stop() {
  is_stopping_ = true;
  timer_.cancel();
}

// Spread over the interval: a thousand sessions cause a hundred requests per second instead of a
// thousand at once.
asio::awaitable<void> SessionSampler::sample_loop() {
  const std::weak_ptr<char> life = life_;
  while (true) {
    std::vector<EntryPtr> running;
    for (const auto& [id, entry] : registry_.entries()) {
      if (entry->record.state == SessionState::kRunning) running.push_back(entry);
    }
    const std::size_t steps = std::max<std::size_t>(running.size(), 1);
    for (std::size_t i = 0; i < steps; ++i) {
      timer_.expires_after(every_ / steps);
      co_await timer_.async_wait(kAwaitTuple);
      if (life.expired() || is_stopping_) co_return;
      if (i >= running.size() || running[i]->record.state != SessionState::kRunning) continue;
      const EntryPtr entry = running[i];
      Result<node::SessionUsage> usage = co_await service_.measure_session(entry->record.id);
      if (life.expired() || is_stopping_) co_return;
      if (!usage) continue;
      if (entry->samples.size() == SessionEntry::kSamples) entry->samples.pop_front();
      entry->samples.push_back(sample_of(*usage));
    }
  }
}

Task<SessionSampler::Measured> SessionSampler::measure(std::string project, std::string id) {
  CO_TRY(const EntryPtr entry, co_await registry_.living(std::move(project), std::move(id)));
  CO_TRY(const node::SessionUsage usage, co_await service_.measure_session(entry->record.id));
  Measured measured{.limits = entry->record.limits,
                    .now = sample_of(usage),
                    .usage = usage,
                    .history = entry->samples};
  co_return measured;
}

}  // namespace glovebox::sessions
