// What is said on standard error while packages are installed for a run: the phases, and the
// installer's own lines, of which nothing reaches a terminal as a control character. A set that is
// there already is nothing to speak of.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace glovebox::client {

class BuildProgress {
 public:
  // What to print for a `build` event; may be nothing.
  std::string add(std::string_view phase, std::string_view text);

  // What is left to say of a failure whose words are `message`: the installer's own were mostly
  // shown when it said them.
  std::string failure_words(std::string_view message) const;

 private:
  std::string cold_words(std::string_view text) const;
  bool was_shown(std::string_view line) const;

  std::string phase_;
  bool has_built_ = false;  // something was fetched, built or installed
  std::deque<std::string> shown_;
};

}  // namespace glovebox::client
