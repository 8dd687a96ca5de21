#include "probe/finding.h"

namespace glovebox::probe {

std::string_view state_name(State state) {
  switch (state) {
    case State::kOk:
      return "ok";
    case State::kWarn:
      return "warn";
    case State::kMissing:
      return "missing";
  }
  return "missing";
}

}  // namespace glovebox::probe
