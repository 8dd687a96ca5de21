// Looks every ten seconds at what cannot be counted as it happens: living sandboxes, waiting ones,
// memory. The samples are in runs::Activity.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <string>

#include "base/task.h"
#include "node/runs/run_service.h"
#include "runs/activity.h"
#include "sessions/session_registry.h"

namespace glovebox::api {

// The sandboxes of one project, or of all.
struct SandboxFigures {
  std::uint32_t running = 0;
  std::uint32_t paused = 0;
  std::uint32_t starting = 0;
  std::uint64_t memory_bytes = 0;  // the limits of those that are not over, disk included
};
// By project; "*" is all of them.
std::map<std::string, SandboxFigures> sandbox_figures(const sessions::SessionRegistry& registry);

// Waiting sandboxes that every project may be given; not the pools that are one project's.
std::uint32_t shared_warm_ready(const node::NodeFigures& figures);

class OverviewSampler {
 public:
  // All are borrowed and outlive this.
  OverviewSampler(asio::io_context& io, const node::RunService& node,
                  const sessions::SessionRegistry& registry, runs::Activity& activity)
      : io_(io), node_(node), registry_(registry), activity_(activity), timer_(io) {}
  ~OverviewSampler() { stop(); }
  OverviewSampler(const OverviewSampler&) = delete;
  OverviewSampler& operator=(const OverviewSampler&) = delete;

  // Samples until stop().
  void start();
  void stop();
  // One sample, now.
  void sample();
  // The time until the next sample.
  std::chrono::milliseconds until_next() const;

 private:
  asio::awaitable<void> sample_loop();

  asio::io_context& io_;
  const node::RunService& node_;
  const sessions::SessionRegistry& registry_;
  runs::Activity& activity_;
  asio::steady_timer timer_;
  bool is_stopping_ = false;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // expires with this
};

}  // namespace glovebox::api
