#include "node/pools/idle_pools.h"

#include <algorithm>

namespace glovebox::node {
namespace {

constexpr std::size_t kRenewedPerTick = 2;

}  // namespace

Pool* IdlePools::find(const PoolKey& key) {
  const auto at = pools_.find(key);
  return at == pools_.end() ? nullptr : &at->second;
}

Pool* IdlePools::find_or_add(const PoolKey& key, PoolBounds bounds, const std::string& owner) {
  if (Pool* pool = find(key)) return pool;
  if (pools_.size() >= options_.max_pools && !remove_empty() && !remove_of_largest_owner(owner)) {
    return nullptr;
  }
  const PoolBounds real = within_limit(bounds);
  const PoolSize size(real.min, real.max, options_.idle_decay, options_.now());
  return &pools_.emplace(key, Pool(key, size, owner)).first->second;
}

// The least recently used one that is empty.
bool IdlePools::remove_empty() {
  auto oldest = pools_.end();
  for (auto at = pools_.begin(); at != pools_.end(); ++at) {
    const Pool& pool = at->second;
    if (pool.idle() > 0 || pool.making > 0 || pool.waiting > 0) continue;
    if (oldest == pools_.end() || pool.size().last_take() < oldest->second.size().last_take()) {
      oldest = at;
    }
  }
  if (oldest == pools_.end()) return false;
  pools_.erase(oldest);
  return true;
}

// With its idle sandboxes.
bool IdlePools::remove_of_largest_owner(const std::string& owner) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [key, pool] : pools_) ++counts[pool.owner()];
  auto oldest = pools_.end();
  for (auto at = pools_.begin(); at != pools_.end(); ++at) {
    const Pool& pool = at->second;
    const std::size_t count = counts[pool.owner()];
    const bool may_go = !pool.owner().empty() && pool.making == 0 && pool.waiting == 0;
    if (!may_go || count <= counts[owner] + 1) continue;
    if (oldest == pools_.end() || count > counts[oldest->second.owner()] ||
        (count == counts[oldest->second.owner()] &&
         pool.size().last_take() < oldest->second.size().last_take())) {
      oldest = at;
    }
  }
  if (oldest == pools_.end()) return false;
  pools_.erase(oldest);
  return true;
}

PoolBounds IdlePools::within_limit(PoolBounds bounds) const {
  const std::uint32_t most = std::min(bounds.max, options_.max_waiting);
  return {std::min(bounds.min, most), most};
}

std::vector<PoolFigures> IdlePools::figures() const {
  std::vector<PoolFigures> figures;
  for (const auto& [key, pool] : pools_) {
    figures.push_back({.template_name = key.template_name,
                       .engine = key.engine,
                       .is_of_sessions = key.is_of_sessions(),
                       .idle = static_cast<std::uint32_t>(pool.idle()),
                       .making = pool.making,
                       .target = pool.size().target(),
                       .hits = pool.hits,
                       .misses = pool.misses});
  }
  return figures;
}

void IdlePools::on_template(const TemplateStatus& status, const SessionPools& wanted) {
  const bool is_removed = status.state == RuntimeState::kRemoved;
  const PoolBounds of_runs{status.description.pool_min, status.description.pool_max};
  for (auto& [key, pool] : pools_) {
    if (key.template_name != status.description.name) continue;
    const PoolBounds bounds =
        within_limit(key.is_of_sessions() ? wanted.bounds_of(key, status) : of_runs);
    pool.size().set_bounds(is_removed ? 0 : bounds.min, is_removed ? 0 : bounds.max);
    if (bounds.max == 0) pool.clear();
    pool.drop_older_than(status.generation);
    if (is_removed || status.state == RuntimeState::kFailed) pool.clear();
  }
}

void IdlePools::tick(Clock::time_point now, WithoutNetwork renew) {
  for (auto& [key, pool] : pools_) {
    pool.size().tick(now);
    pool.drop_ended();
    pool.drop_made_before(now - options_.renew_after, kRenewedPerTick);
    if (pool.waiting == 0) pool.drop_surplus();
    if (renew == WithoutNetwork::kRenew) pool.drop_without_network(kRenewedPerTick);
  }
}

bool IdlePools::make_room(const Budget& budget, std::uint32_t sandboxes, std::uint64_t bytes,
                          const Pool* except) {
  while (!budget.fits(sandboxes, bytes)) {
    Pool* largest = nullptr;
    for (auto& [key, pool] : pools_) {
      if (&pool == except || pool.idle() == 0) continue;
      if (largest == nullptr || pool.idle() > largest->idle()) largest = &pool;
    }
    if (largest == nullptr) return false;
    largest->drop_one();
  }
  return true;
}

std::uint64_t IdlePools::waiting_bytes() const {
  std::uint64_t count = 0;
  for (const auto& [key, pool] : pools_) count += pool.idle() + pool.making;
  return count * options_.waiting_memory_bytes;
}

void IdlePools::shrink() {
  for (auto& [key, pool] : pools_) {
    pool.size().shrink();
    pool.drop_surplus();
  }
}

void IdlePools::drop_one() {
  for (auto& [key, pool] : pools_) {
    if (pool.idle() > 0) return pool.drop_one();
  }
}

void IdlePools::clear() {
  for (auto& [key, pool] : pools_) pool.clear();
}

}  // namespace glovebox::node
