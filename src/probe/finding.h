// One line of what `glovebox doctor` found: a fact about this host, how it stands, and what to do
// about it. Probes make these; the command only prints them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::probe {

enum class State : std::uint8_t {
  kOk,
  kWarn,     // works, with less room or fewer walls than it could have
  kMissing,  // does not work here
};

std::string_view state_name(State state);

struct Finding {
  std::string area;  // "namespaces"
  std::string name;  // "pid"
  State state = State::kOk;
  std::string detail;  // one line, what was seen
  std::string fix;     // one line, what to do; empty when there is nothing to do
  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

}  // namespace glovebox::probe
