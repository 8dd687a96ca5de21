// What one host gives away at most, and how patient it is. The defaults suit a small machine; the
// server fills them from its configuration.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace glovebox::node {

using Clock = std::chrono::steady_clock;

struct NodeOptions {
  std::uint32_t max_sandboxes = 512;  // waiting, being made, and in use
  // What sandboxes in use may need at most, memory and disk together, and a small figure for each
  // that waits.
  std::uint64_t max_memory_bytes = 64ull << 30;
  std::uint64_t waiting_memory_bytes = 16ull << 20;
  std::uint32_t max_pools = 64;
  std::uint32_t max_waiting = 64;  // in one pool, whatever its template says
  // The launcher is one thread: more at once would only wait there, in its order and not in ours.
  std::uint32_t max_creates = 3;

  std::uint32_t max_queue = 4096;            // runs that wait for a sandbox
  std::uint32_t max_queue_per_owner = 1024;  // of one owner; at most a quarter of it all
  std::chrono::milliseconds queue_wait{10'000};
  // How long a run waits for a launcher that is being restarted.
  std::chrono::milliseconds launcher_wait{3'000};

  std::chrono::milliseconds idle_decay{30'000};  // without a take: the pool shrinks
  std::chrono::milliseconds renew_after{600'000};
  // The launcher ends a sandbox in time; this much later we do not believe in that any more.
  std::chrono::milliseconds backstop{5'000};
  std::chrono::milliseconds create_wait{20'000};

  // Sessions mostly wait for somebody: so many of them are promised the same memory and disk.
  std::uint32_t session_overcommit = 1;
  // How long the output of a process that nobody reads any more is kept, at the cost of stopping
  // it; then the oldest of it is lost instead.
  std::chrono::milliseconds detach_grace{60'000};
  std::chrono::milliseconds agent_wait{5'000};     // for an agent's Welcome
  std::chrono::milliseconds request_wait{30'000};  // for its answer to anything else

  // For a gateway that is being restarted: longer than until the supervisor is asked for one.
  std::chrono::milliseconds gateway_wait{5'000};
  std::chrono::milliseconds gateway_patience{10'000};  // for its answer to anything
  // After a run, for what it did with its network.
  std::chrono::milliseconds network_report_wait{500};
  // After a run with a network, sandboxes that wait are prepared for one.
  std::chrono::milliseconds prepare_networks_for{600'000};

  std::function<Clock::time_point()> now = [] { return Clock::now(); };  // tests have their own
};

}  // namespace glovebox::node
