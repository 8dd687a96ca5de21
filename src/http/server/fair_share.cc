#include "http/server/fair_share.h"

#include <algorithm>

namespace glovebox::http {

bool FairShare::has_room(const RequestOwner& owner) const {
  const std::size_t free = most_ - std::min(most_, total_);
  const bool is_anonymous = owner.kind == RequestOwner::Kind::kAnonymous;
  const auto& owners = is_anonymous ? networks_ : projects_;
  const auto found = owners.find(owner.name);
  const Taken taken = found == owners.end() ? Taken{} : found->second;
  std::size_t counted = taken.all;
  // A network counts beside all anonymous clients, itself included: they stay below half together,
  // and one with little stays below the limit longer than one with much. So do visitors beside
  // their project.
  if (is_anonymous) counted += anonymous_;
  if (owner.kind == RequestOwner::Kind::kVisitor) counted += taken.visitors;
  return counted < free;
}

void FairShare::Part::set(std::size_t amount) {
  if (amount == amount_) return;
  // Unsigned arithmetic: a difference below zero wraps around and back.
  const std::size_t change = amount - amount_;
  amount_ = amount;
  share_.total_ += change;
  const bool is_anonymous = owner_.kind == RequestOwner::Kind::kAnonymous;
  if (is_anonymous) share_.anonymous_ += change;
  auto& owners = is_anonymous ? share_.networks_ : share_.projects_;
  const auto taken = owners.try_emplace(owner_.name).first;
  taken->second.all += change;
  if (owner_.kind == RequestOwner::Kind::kVisitor) taken->second.visitors += change;
  if (taken->second.all == 0) owners.erase(taken);
}

}  // namespace glovebox::http
