#include "api/overview/overview_sampler.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/wall_clock.h"
#include "model/template_rules.h"

namespace glovebox::api {
namespace {

using Clock = std::chrono::steady_clock;

void add_to(SandboxFigures& figures, const store::SessionRecord& record) {
  switch (record.state) {
    case SessionState::kRunning:
      ++figures.running;
      break;
    case SessionState::kPaused:
      ++figures.paused;
      break;
    default:
      ++figures.starting;
  }
  figures.memory_bytes += record.limits.memory_bytes + record.limits.disk_bytes;
}

}  // namespace

std::map<std::string, SandboxFigures> sandbox_figures(const sessions::SessionRegistry& registry) {
  std::map<std::string, SandboxFigures> by_project;
  SandboxFigures& all = by_project[std::string(runs::Activity::kAll)];
  for (const auto& [id, entry] : registry.entries()) {
    if (is_over(entry->record.state)) continue;
    add_to(by_project[entry->record.project], entry->record);
    add_to(all, entry->record);
  }
  return by_project;
}

std::uint32_t shared_warm_ready(const node::NodeFigures& figures) {
  std::uint32_t ready = 0;
  for (const node::PoolFigures& pool : figures.pools) {
    if (!pool.is_of_sessions && !is_dynamic_template_id(pool.template_name)) ready += pool.idle;
  }
  return ready;
}

void OverviewSampler::start() { asio::co_spawn(io_, sample_loop(), asio::detached); }

void OverviewSampler::stop() {
  is_stopping_ = true;
  timer_.cancel();
}

asio::awaitable<void> OverviewSampler::sample_loop() {
  const std::weak_ptr<char> life = life_;
  while (true) {
    timer_.expires_after(runs::Activity::kInterval);
    co_await timer_.async_wait(kAwaitTuple);
    if (life.expired() || is_stopping_) co_return;
    sample();
  }
}

void OverviewSampler::sample() {
  const node::NodeFigures figures = node_.figures();
  const auto sandboxes = sandbox_figures(registry_);
  for (const auto& [project, of_project] : sandboxes) activity_.note_project(project);
  const std::uint32_t warm_ready = shared_warm_ready(figures);
  const auto measure = [&](const std::string& project) {
    runs::Gauges gauges{.warm_ready = warm_ready};
    if (const auto found = sandboxes.find(project); found != sandboxes.end()) {
      gauges.sandboxes = found->second.running + found->second.paused;
      gauges.memory_bytes = found->second.memory_bytes;
    }
    if (project == runs::Activity::kAll) gauges.memory_bytes = figures.memory_committed_bytes;
    return gauges;
  };
  activity_.end_interval(wall_clock_ms(), measure);
}

std::chrono::milliseconds OverviewSampler::until_next() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timer_.expiry() - Clock::now());
  return std::clamp(left, std::chrono::milliseconds(0),
                    std::chrono::milliseconds(runs::Activity::kInterval));
}

}  // namespace glovebox::api
