// Limits and timeouts of one host. The defaults suit a small machine; the server fills them from
// its configuration.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "node/host/host_pressure.h"

namespace glovebox::node {

using Clock = std::chrono::steady_clock;

// How the server talks to the agent of a session that it makes (wire/guest/session_frames.h). One
// that it adopts keeps its socket.
enum class GuestLink : std::uint8_t {
  kDescriptors,  // over SEQPACKET; pipes of files and sockets of ports are handed over
  kFrames,       // over SEQPACKET, everything in frames
  kByteStream,   // the same over a byte stream
};

struct NodeOptions {
  std::uint32_t max_sandboxes = 512;  // idle, being created, and in use
  // What sandboxes in use may need at most, memory and disk together, plus waiting_memory_bytes
  // for each idle one.
  std::uint64_t max_memory_bytes = 64ull << 30;
  std::uint64_t waiting_memory_bytes = 16ull << 20;
  // The part of both that one owner may have, so that there is always room for another.
  std::uint32_t owner_share_percent = 100;
  std::uint32_t max_pools = 64;
  std::uint32_t max_waiting = 128;  // idle sandboxes in one pool, whatever its template says
  // Whose sessions wait that the file of a template asks for; other projects' by their demand.
  std::string waiting_project = "default";
  // Sandboxes being created at once. The launcher has one thread: more would only wait there, in
  // its order instead of ours.
  std::uint32_t max_creates = 3;

  std::uint32_t max_queue = 4096;            // requests that wait for a sandbox
  std::uint32_t max_queue_per_owner = 1024;  // of one owner; at most a quarter of max_queue
  std::chrono::milliseconds queue_wait{10'000};
  // How long a run waits for a launcher that is being restarted.
  std::chrono::milliseconds launcher_wait{3'000};

  std::chrono::milliseconds idle_decay{30'000};  // a pool without a take for so long shrinks
  std::chrono::milliseconds renew_after{600'000};
  // The launcher ends a sandbox at its deadline; this much later we stop waiting for that.
  std::chrono::milliseconds backstop{5'000};
  std::chrono::milliseconds create_wait{20'000};

  // What the kernel says of the host's memory; empty: it is not asked. Tests replace it.
  std::function<HostSample()> host_sample{};

  GuestLink session_link = GuestLink::kDescriptors;
  // Sessions are mostly idle: so many of them share the same memory and disk in the budget.
  std::uint32_t session_overcommit = 1;
  // How long the output of a process without a reader is kept, even if the process has to stop for
  // that; afterwards the oldest output is dropped instead.
  std::chrono::milliseconds detach_grace{60'000};
  std::chrono::milliseconds agent_wait{5'000};     // for an agent's Welcome
  std::chrono::milliseconds request_wait{30'000};  // for its answer to any request else

  // For a gateway that is being restarted: longer than the supervisor needs to notice.
  std::chrono::milliseconds gateway_wait{5'000};
  std::chrono::milliseconds gateway_patience{10'000};  // for its answer to any request
  // After a run, for the gateway's report about its network.
  std::chrono::milliseconds network_report_wait{500};
  // After a run with a network, idle sandboxes are prepared for one for this long.
  std::chrono::milliseconds prepare_networks_for{600'000};

  // A sandbox that is used again: at most so often, for so long, and while it is idle for so long.
  std::uint32_t reuse_max_calls = 1000;
  std::chrono::milliseconds reuse_max_age{600'000};
  std::chrono::milliseconds reuse_idle{30'000};
  std::uint32_t cpus = std::max(1u, std::thread::hardware_concurrency());

  std::function<Clock::time_point()> now = [] { return Clock::now(); };  // tests replace it
};

}  // namespace glovebox::node
