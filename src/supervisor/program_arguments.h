// What the programs that a supervisor starts are told in common.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace glovebox::supervisor {

// Nothing of the caller's environment but where its own directories are.
std::vector<std::string> environment_of_programs(const config::Settings& settings);
// And where its packages come from, perhaps with passwords: see config/package_index.h.
std::vector<std::string> environment_of_server(const config::Settings& settings);

// Arguments of a gateway's, each after kIndexWord: what builds of packages may reach. None if there
// are no builds, or if it cannot be known where packages come from: that is in the log.
inline constexpr const char* kIndexWord = "--index";
std::vector<std::string> words_of_indexes(const config::Settings& settings);

// The port of an url of ours, or nothing.
std::string port_of(const std::string& url);

}  // namespace glovebox::supervisor
