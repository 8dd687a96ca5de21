#include "node/pools/pool.h"

#include <algorithm>
#include <utility>

namespace glovebox::node {

template <class Condition>
void Pool::drop_if(Condition condition) {
  std::erase_if(idle_, [&](const std::unique_ptr<Sandbox>& one) { return condition(*one); });
}

std::unique_ptr<Sandbox> Pool::take(For what) {
  drop_ended();
  auto which = std::find_if(idle_.begin(), idle_.end(), [&](const auto& one) {
    return one->has_network() == (what == For::kNetwork);
  });
  if (which == idle_.end() && what == For::kAny) which = idle_.begin();
  if (which == idle_.end()) return nullptr;
  std::unique_ptr<Sandbox> sandbox = std::move(*which);
  idle_.erase(which);
  sandbox->give();
  sandbox->on_end({});
  return sandbox;
}

std::size_t Pool::idle(For what) const {
  if (what == For::kAny) return idle_.size();
  return static_cast<std::size_t>(std::count_if(
      idle_.begin(), idle_.end(), [](const auto& one) { return one->has_network(); }));
}

void Pool::drop_without_network(std::size_t most) {
  drop_if([&](const Sandbox& one) {
    if (one.has_network() || most == 0) return false;
    --most;
    return true;
  });
}

void Pool::drop_ended() {
  drop_if([](const Sandbox& one) { return one.ended().has_value() || one.lost(); });
}

void Pool::drop_older_than(std::uint32_t generation) {
  drop_if([&](const Sandbox& one) { return one.generation() < generation; });
}

void Pool::drop_made_before(Clock::time_point time, std::size_t most) {
  // In the order of their creation.
  while (most-- > 0 && !idle_.empty() && idle_.front()->make().made_at < time) idle_.pop_front();
}

void Pool::drop_surplus() {
  while (idle_.size() > size_.target()) idle_.pop_front();
}

std::uint32_t Pool::wanted(bool quiet) {
  const auto have = static_cast<std::uint32_t>(idle_.size()) + making;
  const std::uint32_t target = size_.target();
  if (have >= target) {
    filling_ = false;
    return 0;
  }
  // Once begun it is filled up: otherwise it would stay at one half, and each run would wait for a
  // creation.
  if (quiet || have < (target + 1) / 2) filling_ = true;
  return filling_ ? target - have : 0;
}

}  // namespace glovebox::node
