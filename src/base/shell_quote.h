// Words for a line that a person can paste into a shell.
#pragma once

#include <string>
#include <string_view>

namespace glovebox {

// `word` as a POSIX shell reads it back: as it is, or in single quotes if the shell would change
// it.
std::string shell_quoted(std::string_view word);

}  // namespace glovebox
