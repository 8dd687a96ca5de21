#include "packages/eviction_order.h"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

namespace glovebox::packages {
namespace {

struct Owner {
  std::vector<Evictable> kept;  // that can go, the last used first
  std::uint64_t weight = 0;
};

}  // namespace

std::vector<std::string> eviction_order(std::vector<Evictable> all) {
  std::stable_sort(all.begin(), all.end(), [](const Evictable& one, const Evictable& other) {
    return one.used_ms > other.used_ms;
  });
  std::map<std::string, Owner> owners;
  for (Evictable& one : all) {
    Owner& owner = owners[one.owner];
    owner.weight += one.weight;
    if (!one.stays) owner.kept.push_back(std::move(one));
  }
  // Of two that keep the same, the one whose oldest was not used for longer.
  const auto goes_later = [](const Owner* one, const Owner* other) {
    if (one->weight != other->weight) return one->weight < other->weight;
    return one->kept.back().used_ms > other->kept.back().used_ms;
  };
  std::priority_queue<Owner*, std::vector<Owner*>, decltype(goes_later)> most(goes_later);
  for (auto& [name, owner] : owners) {
    if (!owner.kept.empty()) most.push(&owner);
  }
  std::vector<std::string> order;
  order.reserve(all.size());
  while (!most.empty()) {
    Owner* const owner = most.top();
    most.pop();
    owner->weight -= owner->kept.back().weight;
    order.push_back(std::move(owner->kept.back().id));
    owner->kept.pop_back();
    if (!owner->kept.empty()) most.push(owner);
  }
  return order;
}

}  // namespace glovebox::packages
