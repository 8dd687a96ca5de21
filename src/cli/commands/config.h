// `glovebox config`: every setting of the server, its value, and who said so.
#pragma once

#include <span>
#include <string>

#include "config/load.h"

namespace glovebox::cli {

// 0, or 2 when the settings are not right.
int config_command(std::span<const std::string> args);

// One line each: `server.listen = "127.0.0.1:7070"  # default`. What it prints is a TOML file.
std::string config_text(const config::Table& table);
// {"server.listen": {"value": ..., "origin": ..., "default": ..., "help": ...}, ...}
std::string config_json(const config::Table& table);

}  // namespace glovebox::cli
