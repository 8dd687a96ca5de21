// `glovebox config`: every setting of the server, its value and its origin.
#pragma once

#include <span>
#include <string>

#include "config/load.h"

namespace glovebox::cli {

// Returns the exit status: 2 if the settings are invalid.
int config_command(std::span<const std::string> args);

// One line for each setting: `server.listen = "127.0.0.1:7070"  # default`. The result is TOML.
std::string config_text(const config::SettingTable& table);
// {"server.listen": {"value": ..., "origin": ..., "default": ..., "help": ...}, ...}
std::string config_json(const config::SettingTable& table);

}  // namespace glovebox::cli
