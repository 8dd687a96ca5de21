// What a sandbox did with its network, for people and programs: in a run's metrics, in GET
// /v1/sandboxes/{id}/network and in events. Names and addresses in it come from a guest or another
// untrusted source: bounded by the gateway's messages, and made UTF-8 here.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/gateway/gateway_messages.h"

namespace glovebox::wire {

struct NetworkFigures {
  NetTotals totals;
  std::vector<NetDecision> decisions;  // oldest first
  std::uint64_t left_out = 0;          // decisions of kinds that are not kept
  // The gateway was restarted meanwhile, or did not say: there was more than this.
  bool incomplete = false;
  bool operator==(const NetworkFigures&) const = default;
};

// {"bytes_out","bytes_in","connections","denied","names","open","spent":[...],"decisions":[...],
// "left_out","incomplete"}
boost::json::object network_json(const NetworkFigures& figures);
// {"what":"connect"|"resolve","allowed","name","address","port","rule","count","bytes_out",
// "bytes_in","first_at","last_at"}
boost::json::object decision_json(const NetDecision& decision);

}  // namespace glovebox::wire
