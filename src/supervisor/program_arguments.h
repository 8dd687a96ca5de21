// Environment and arguments of the programs that the supervisor starts.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace glovebox::supervisor {

// Of the caller's environment only the variables that name directories.
std::vector<std::string> environment_of_programs(const config::Settings& settings);
// Also the variables of package indexes, which may contain passwords: see config/package_index.h.
std::vector<std::string> environment_of_server(const config::Settings& settings);

// Arguments of the gateway: what package builds and pulls of images may reach, each after
// kIndexOption. Nothing of the indexes if builds are disabled or the indexes are misconfigured,
// which is logged.
inline constexpr const char* kIndexOption = "--index";
std::vector<std::string> index_arguments(const config::Settings& settings);

// The port of a url that is_plain_url() accepts, or empty.
std::string port_of(const std::string& url);

}  // namespace glovebox::supervisor
