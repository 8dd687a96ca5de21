// Decides whether the kernel killed a process for memory: the kernel counts such kills per sandbox,
// and this remembers the last count. Callers ask only about ends that look like such a kill.
#pragma once

#include <cstdint>
#include <map>

#include "base/id.h"
#include "base/task.h"
#include "node/sessions/session_service.h"

namespace glovebox::sessions {

class OomKillCounter {
 public:
  explicit OomKillCounter(node::SessionService& service) : service_(service) {}

  // Call it before this server starts or adopts the first process of a session.
  asio::awaitable<void> open(SandboxId id);
  asio::awaitable<bool> was_killed(SandboxId id, wire::ProcessEnd end);

 private:
  static constexpr std::size_t kMany = 64;

  node::SessionService& service_;
  std::map<SandboxId, std::uint32_t> seen_;
};

}  // namespace glovebox::sessions
