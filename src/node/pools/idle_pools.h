// The pools of this host, by template and engine: which there are, how large they want to be, and
// which sandboxes are dropped when they are old, surplus or in the way. Does not create any.
// One thread; never fails.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/template.h"
#include "node/node_options.h"
#include "node/pools/budget.h"
#include "node/pools/pool.h"
#include "node/pools/session_pools.h"

namespace glovebox::node {

class IdlePools {
 public:
  // `options` outlives this object.
  explicit IdlePools(const NodeOptions& options) : options_(options) {}

  // Null: there is none.
  Pool* find(const PoolKey& key);
  // Null: there are as many pools as there may be, and all are in use. Then an owner that has fewer
  // than another one gets the place of that one's least recently used.
  Pool* find_or_add(const PoolKey& key, PoolBounds bounds, const std::string& owner = {});
  std::map<PoolKey, Pool>& all() { return pools_; }
  std::vector<PoolFigures> figures() const;

  // Sizes follow the template, and of sessions what is wanted; sandboxes of an older generation are
  // dropped.
  void on_template(const TemplateStatus& status, const SessionPools& wanted);
  // Shrinks, renews and drops ended sandboxes. `renew`: also those without a prepared network,
  // a few at a time.
  enum class WithoutNetwork : bool { kKeep, kRenew };
  void tick(Clock::time_point now, WithoutNetwork renew);

  // Drops idle sandboxes, of the largest pool first, until the budget has room for this. False:
  // it has not, and nothing is left to drop. The sandboxes of `except` stay.
  bool make_room(const Budget& budget, std::uint32_t sandboxes, std::uint64_t bytes,
                 const Pool* except);
  // All that wait or are being made, in bytes of the budget.
  std::uint64_t waiting_bytes() const;
  // This host is short of memory: only the minimum stays.
  void shrink();
  void drop_one();
  void clear();

 private:
  bool remove_empty();
  bool remove_of_largest_owner(const std::string& owner);
  PoolBounds within_limit(PoolBounds bounds) const;

  const NodeOptions& options_;
  std::map<PoolKey, Pool> pools_;
};

}  // namespace glovebox::node
