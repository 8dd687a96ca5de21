// What the programs that a supervisor starts are told in common.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace glovebox::supervisor {

// Nothing of the caller's environment but where its own directories are.
std::vector<std::string> environment_of_programs(const config::Settings& settings);

// The port of an url of ours, or nothing.
std::string port_of(const std::string& url);

}  // namespace glovebox::supervisor
