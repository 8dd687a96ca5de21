// Loads the settings, in rising precedence: compiled-in defaults, a TOML file, environment
// variables, flags. Every value remembers its origin.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/keys.h"
#include "config/settings.h"
#include "options/option.h"

namespace glovebox::config {

// What the settings depend on besides the command line, so that tests can have their own.
struct ProcessEnvironment {
  std::vector<std::string> variables;  // "NAME=value"
  std::string data_dir;                // the default
  std::string file;                    // read if it exists
  bool is_root = false;                // then root must own `file`
  std::string policy;                  // the launcher's, for its uid range
  static ProcessEnvironment current();
};

struct SettingValue {
  const Key* key;
  std::string text;
  std::string origin;  // "default", "file /etc/glovebox/server.toml:12", "flag --listen", ...
};
using SettingTable = std::vector<SettingValue>;  // in the order of the keys

// --listen, --data-dir, --config, --no-config and --set of one command line.
struct SettingFlags {
  std::string file;
  bool no_config = false;
  std::vector<SettingValue>
      values;  // in the order of the command line; the last one of a key counts
  // What as_arguments() says of where values come from, instead of this command line: key and text.
  std::vector<std::pair<const Key*, std::string>> origins;

  // For a command that takes them beside options of its own. This object is where the values go, so
  // it must stay where it is until the command line was parsed.
  std::vector<options::Option> options();
};

struct LoadedSettings {
  Settings settings;
  SettingTable table;
  std::vector<std::string> rest;  // other arguments, in their order
};

Result<LoadedSettings> load(SettingFlags flags, const ProcessEnvironment& process);
// Takes the options of SettingFlags out of `args`; all other words are in LoadedSettings::rest.
Result<LoadedSettings> load(std::span<const std::string> args, const ProcessEnvironment& process);

// Refuses settings that are valid but cannot be served.
Result<> check_servable(const LoadedSettings& loaded);

// Arguments that give another Glovebox program the same settings, whatever its environment, and
// tell it where they come from.
std::vector<std::string> as_arguments(const SettingTable& table);

}  // namespace glovebox::config
