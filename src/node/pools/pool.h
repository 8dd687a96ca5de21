// Idle, never-used sandboxes of one template and engine. What is taken out does not come back. Owns
// its sandboxes; one thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "model/limits.h"
#include "model/pool_key.h"
#include "node/pools/pool_size.h"
#include "node/runs/run_service.h"
#include "node/sandboxes/sandbox.h"

namespace glovebox::node {

// Whose session waits, and how it is made.
struct WaitingSession {
  std::string project;
  Limits limits;
};

class Pool {
 public:
  // `owner`: whose request it was made for; empty: the administrator's.
  Pool(PoolKey key, PoolSize size, std::string owner = {})
      : key_(std::move(key)), size_(size), owner_(std::move(owner)) {}

  const PoolKey& key() const { return key_; }
  const std::string& owner() const { return owner_; }
  // Of a pool of sessions: how one is made.
  std::optional<WaitingSession> session{};
  PoolSize& size() { return size_; }
  const PoolSize& size() const { return size_; }

  void add(std::unique_ptr<Sandbox> sandbox) { idle_.push_back(std::move(sandbox)); }
  // Whether a run needs one with a prepared network; other runs take those last.
  enum class For : bool { kAny, kNetwork };
  // The oldest that is still alive; null if there is none.
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

  // How many more should be created now. While runs are under way half a pool is enough: the
  // launcher and the CPUs belong to the runs. `quiet`: there are none.
  std::uint32_t wanted(bool quiet);

  std::uint32_t making = 0;
  std::uint32_t waiting = 0;  // requests in the queue for one of these
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  // After a failed creation: not before this time again.
  Clock::time_point not_before{};

 private:
  template <class Condition>
  void drop_if(Condition condition);

  PoolKey key_;
  PoolSize size_;
  std::string owner_;
  std::deque<std::unique_ptr<Sandbox>> idle_;
  bool filling_ = true;
};

}  // namespace glovebox::node
