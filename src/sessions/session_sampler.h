// Resource usage of sessions: measured for a request, and sampled every few seconds as a history.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <string>

#include "base/task.h"
#include "sessions/session_registry.h"

namespace glovebox::sessions {

class SessionSampler {
 public:
  // All are borrowed and outlive this.
  SessionSampler(asio::io_context& io, SessionRegistry& registry, node::SessionService& service,
                 std::chrono::milliseconds sample_every)
      : io_(io), registry_(registry), service_(service), every_(sample_every), timer_(io) {}
  ~SessionSampler() { stop(); }
  SessionSampler(const SessionSampler&) = delete;
  SessionSampler& operator=(const SessionSampler&) = delete;

  // Samples until stop().
  void start();
  void stop();

  struct Measured {
    Limits limits;
    SessionSample now;
    node::SessionUsage usage;
    std::deque<SessionSample> history;
  };
  // kNotFound; kConflict: it has ended.
  Task<Measured> measure(std::string project, std::string id);

 private:
  asio::awaitable<void> sample_loop();

  asio::io_context& io_;
  SessionRegistry& registry_;
  node::SessionService& service_;
  const std::chrono::milliseconds every_;
  asio::steady_timer timer_;
  bool is_stopping_ = false;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // expires with this
};

}  // namespace glovebox::sessions
