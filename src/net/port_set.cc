#include "net/port_set.h"

#include <algorithm>

namespace glovebox::net {
namespace {

PortRange range_of(unsigned first, unsigned last) {
  return PortRange{.first = static_cast<std::uint16_t>(first),
                   .last = static_cast<std::uint16_t>(last)};
}

}  // namespace

PortSet::PortSet(std::vector<PortRange> ranges) {
  std::sort(ranges.begin(), ranges.end());
  for (const PortRange& range : ranges) {
    if (ranges_.empty() || range.first > unsigned{ranges_.back().last} + 1) {
      ranges_.push_back(range);
    } else {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    }
  }
}

PortSet PortSet::minus(const PortSet& other) const {
  PortSet left;
  std::size_t i = 0;
  for (const PortRange& range : ranges_) {
    unsigned next = range.first;
    while (i < other.ranges_.size() && other.ranges_[i].last < next) ++i;
    for (std::size_t j = i; j < other.ranges_.size() && other.ranges_[j].first <= range.last; ++j) {
      if (other.ranges_[j].first > next) {
        left.ranges_.push_back(range_of(next, other.ranges_[j].first - 1u));
      }
      next = other.ranges_[j].last + 1u;
    }
    if (next <= range.last) left.ranges_.push_back(range_of(next, range.last));
  }
  return left;
}

PortSet PortSet::both(const PortSet& other) const { return minus(minus(other)); }

PortSet PortSet::either(const PortSet& other) const {
  std::vector<PortRange> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  return PortSet(std::move(all));
}

}  // namespace glovebox::net
