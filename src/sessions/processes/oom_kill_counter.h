// Which ends were the kernel's, for memory: it counts its kills per sandbox, and this remembers the
// count that was seen last. Only asked about ends that look like one.
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

  // Before the first process of a session that this server starts or looks after.
  asio::awaitable<void> open(SandboxId id);
  asio::awaitable<bool> was_killed(SandboxId id, wire::ProcessEnd end);

 private:
  static constexpr std::size_t kMany = 64;

  node::SessionService& service_;
  std::map<SandboxId, std::uint32_t> seen_;
};

}  // namespace glovebox::sessions
