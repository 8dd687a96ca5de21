#include "http/server/fair_share.h"

#include <algorithm>

namespace glovebox::http {

bool FairShare::has_room(const RequestOwner& owner) const {
  const std::size_t free = most_ - std::min(most_, total_);
  const auto taken = taken_.find(owner);
  const std::size_t own = taken == taken_.end() ? 0 : taken->second;
  // A network counts beside all strangers, itself included: they stay below half together, and one
  // with little stays below the limit longer than one with much.
  return own + (owner.kind == RequestOwner::Kind::kStranger ? strangers_ : 0) < free;
}

void FairShare::Part::set(std::size_t amount) {
  if (amount == amount_) return;
  // Unsigned arithmetic: a difference below zero wraps around and back.
  const std::size_t change = amount - amount_;
  amount_ = amount;
  share_.total_ += change;
  if (owner_.kind == RequestOwner::Kind::kStranger) share_.strangers_ += change;
  const auto taken = share_.taken_.try_emplace(owner_, 0).first;
  taken->second += change;
  if (taken->second == 0) share_.taken_.erase(taken);
}

}  // namespace glovebox::http
