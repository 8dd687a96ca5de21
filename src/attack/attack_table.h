// The table of attacks, as glovebox-attacks lists it. The rows and the code behind them are in
// tests/escape/attacks; this side only knows their names and how each is run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::attack {

enum class Kind {
  kProbe,      // verdict from the exit status
  kBomb,       // verdict from the run's outcome
  kNeighbour,  // two sandboxes: step=exhaust in one, step=check in the other
  kSurvivor,   // what is left on the host when the run is over
  kOut,        // what --out brought back
  kPlant,      // what lies in a host directory mounted read-write
};

struct AttackRow {
  std::string name{};
  std::string group{};
  std::string aims_at{};
  std::string held_by{};
  Kind kind = Kind::kProbe;
  std::vector<std::string> needs{};
  std::vector<std::string> outcomes{};  // bombs: those that mean "held"
  std::vector<std::string> limits{};    // more flags for `glovebox run`

  bool needs_a(std::string_view what) const;
};

Result<std::vector<AttackRow>> load_table(const std::string& attacks_program);

}  // namespace glovebox::attack
