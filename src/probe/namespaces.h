// The namespaces a jail is made of, each of them really cloned, by the way open to this user: as
// root directly, else together with a user namespace.
#pragma once

#include <string>
#include <vector>

#include "probe/attempt.h"
#include "probe/finding.h"

namespace glovebox::probe {

struct NamespaceTrial {
  std::string name{};  // "pid"
  Attempt attempt{};
};

struct NamespaceFacts {
  Way way = Way::kDirect;
  std::vector<NamespaceTrial> trials{};

  bool all_work() const;
};

NamespaceFacts probe_namespaces();
void explain(const NamespaceFacts& facts, Findings& findings);

}  // namespace glovebox::probe
