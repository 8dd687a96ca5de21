// A set of ports, to find out whether any is left of what some rules allow and others deny.
#pragma once

#include <vector>

#include "net/net_rule.h"

namespace glovebox::net {

class PortSet {
 public:
  PortSet() = default;
  // The ranges may come in any order and overlap.
  explicit PortSet(std::vector<PortRange> ranges);

  bool empty() const { return ranges_.empty(); }
  PortSet minus(const PortSet& other) const;
  PortSet both(const PortSet& other) const;  // what is in each of them
  PortSet either(const PortSet& other) const;
  bool operator==(const PortSet&) const = default;

 private:
  std::vector<PortRange> ranges_;  // sorted, with a port between any two
};

}  // namespace glovebox::net
