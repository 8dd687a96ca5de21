// From facts to engines: which engine can run here, at full strength or not, and why not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/host.h"

namespace glovebox::probe {

struct EngineOutlook {
  enum class Strength : std::uint8_t {
    kNone,     // cannot run
    kPartial,  // runs, with walls missing
    kFull,     // runs, with every wall its best grade asks for
  };
  std::string name{};  // "jail", "process"
  Strength strength = Strength::kNone;
  std::string why{};  // one line: what is missing, or what it stands on

  bool usable() const { return strength != Strength::kNone; }
};

// Strongest first.
std::vector<EngineOutlook> judge_engines(const HostFacts& host);

}  // namespace glovebox::probe
