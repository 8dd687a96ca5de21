// Progress of a package installation, for standard error: the phases and the installer's output,
// with control characters escaped. Nothing is printed for a set that is installed already.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace glovebox::client {

class BuildProgress {
 public:
  // What to print for a `build` event; may be empty.
  std::string add(std::string_view phase, std::string_view text);

  // The lines of a failure's message that were not printed before as the installer's output.
  std::string failure_message(std::string_view message) const;

 private:
  std::string cold_start_text(std::string_view text) const;
  bool was_shown(std::string_view line) const;

  std::string phase_;
  bool has_built_ = false;  // a phase that makes something was seen
  std::deque<std::string> shown_;
};

}  // namespace glovebox::client
