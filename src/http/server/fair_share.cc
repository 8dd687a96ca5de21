#include "http/server/fair_share.h"

#include <algorithm>

namespace glovebox::http {

bool FairShare::has_room(const RequestOwner& owner) const {
  const std::size_t free = most_ - std::min(most_, total_);
  const bool is_stranger = owner.kind == RequestOwner::Kind::kStranger;
  const auto& owners = is_stranger ? networks_ : projects_;
  const auto found = owners.find(owner.name);
  const Taken taken = found == owners.end() ? Taken{} : found->second;
  std::size_t counted = taken.all;
  // A network counts beside all strangers, itself included: they stay below half together, and one
  // with little stays below the limit longer than one with much. So do visitors beside their
  // project.
  if (is_stranger) counted += strangers_;
  if (owner.kind == RequestOwner::Kind::kVisitor) counted += taken.visitors;
  return counted < free;
}

void FairShare::Part::set(std::size_t amount) {
  if (amount == amount_) return;
  // Unsigned arithmetic: a difference below zero wraps around and back.
  const std::size_t change = amount - amount_;
  amount_ = amount;
  share_.total_ += change;
  const bool is_stranger = owner_.kind == RequestOwner::Kind::kStranger;
  if (is_stranger) share_.strangers_ += change;
  auto& owners = is_stranger ? share_.networks_ : share_.projects_;
  const auto taken = owners.try_emplace(owner_.name).first;
  taken->second.all += change;
  if (owner_.kind == RequestOwner::Kind::kVisitor) taken->second.visitors += change;
  if (taken->second.all == 0) owners.erase(taken);
}

}  // namespace glovebox::http
