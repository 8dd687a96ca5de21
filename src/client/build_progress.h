// What is said on standard error while packages are installed for a run: the phases, and the
// installer's own lines, of which nothing reaches a terminal as a control character.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::client {

class BuildProgress {
 public:
  // What to print for a `build` event; may be nothing.
  std::string add(std::string_view phase, std::string_view text);

 private:
  std::string phase_;
};

}  // namespace glovebox::client
