// Never-used sandboxes of one template and engine, waiting. What is taken out does not come back.
#pragma once

#include <compare>
#include <deque>
#include <memory>
#include <string>

#include "model/wall.h"
#include "node/pools/pool_size.h"
#include "node/runs/run_service.h"
#include "node/sandboxes/sandbox.h"

namespace glovebox::node {

// What is fixed before somebody takes one. Limits, env, files and times come at the take.
struct PoolKey {
  std::string template_name;
  EngineKind engine = EngineKind::kJail;
  auto operator<=>(const PoolKey&) const = default;
};

class Pool {
 public:
  Pool(PoolKey key, PoolSize size) : key_(std::move(key)), size_(size) {}

  const PoolKey& key() const { return key_; }
  PoolSize& size() { return size_; }
  const PoolSize& size() const { return size_; }

  void add(std::unique_ptr<Sandbox> sandbox) { idle_.push_back(std::move(sandbox)); }
  // Whether a run needs one that is prepared for a network; others leave those to it, if they can.
  enum class For : bool { kAny, kNetwork };
  // The one that waits longest and still lives; null if there is none. Never the same one twice.
  std::unique_ptr<Sandbox> take(For what);
  std::size_t idle() const { return idle_.size(); }
  std::size_t idle(For what) const;

  void drop_ended();
  void drop_older_than(std::uint32_t generation);
  void drop_made_before(Clock::time_point time, std::size_t most);
  void drop_without_network(std::size_t most);
  void drop_surplus();
  void drop_one() { idle_.pop_front(); }
  void clear() { idle_.clear(); }

  // How many more are wanted now. While runs are under way the launcher and the CPUs are theirs,
  // and half a pool is enough; `quiet` says that there are none.
  std::uint32_t wanted(bool quiet);

  std::uint32_t making = 0;
  std::uint32_t waiting = 0;  // runs in the queue that want one of these
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  // Makings failed: not before this time again.
  Clock::time_point not_before{};

 private:
  template <class Condition>
  void drop_if(Condition condition);

  PoolKey key_;
  PoolSize size_;
  std::deque<std::unique_ptr<Sandbox>> idle_;
  bool filling_ = true;
};

}  // namespace glovebox::node
