// What Pools keeps of a run that waits, and of a sandbox that is being made.
#pragma once

#include "node/pools/pools.h"

namespace glovebox::node {

struct Pools::Waiter {
  Waiter(boost::asio::io_context& io, Wish wanted, Clock::time_point now)
      : wish(std::move(wanted)), since(now), signal(io) {}
  Wish wish;
  Clock::time_point since;
  Clock::time_point making_since{};
  Signal signal;
  std::optional<Result<std::unique_ptr<Sandbox>>> answer;
  bool queued = false;
  bool counted = false;  // in its pool's `waiting`
  bool missed = false;
  bool left = false;  // cancelled: what comes for it goes
};

struct Pools::Making {
  UniqueFd socket;
  Charge charge;
  Sandbox::Make make;
  std::string template_name;
  WaiterPtr waiter;      // null: for a pool
  bool overdue = false;  // its runtime does not come: others are made meanwhile
  bool network = false;  // it was asked for
};

inline Pool::For kind_of(const Wish& wish) {
  return wish.network ? Pool::For::kNetwork : Pool::For::kAny;
}

inline Error no_network() {
  return Error(Errc::kUnsupported,
               "this host's kernel cannot give a sandbox a network (see `glovebox doctor`)");
}

// What a sandbox in use may need of this host.
inline std::uint64_t bytes_of(const Limits& limits) {
  const std::uint64_t sum = limits.memory_bytes + limits.disk_bytes;
  return sum < limits.memory_bytes ? UINT64_MAX : sum;
}

}  // namespace glovebox::node
