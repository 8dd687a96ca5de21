// The process engine has no root of its own: /home/user stands for a private directory of the
// host's, in paths, arguments and environment alike.
#pragma once

#include <string>
#include <string_view>

#include "model/sandbox_spec.h"

namespace glovebox::agent {

std::string place_in_home(std::string_view path, std::string_view home);
ExecSpec with_home(ExecSpec exec, std::string_view home);

// Kills what descends from this process, however it hid: being its subreaper, everything orphaned
// comes back as a child.
void kill_descendants();

}  // namespace glovebox::agent
