// Where settings come from, in rising precedence: what is compiled in, a TOML file, environment
// variables, flags. Every value remembers its origin.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/keys.h"
#include "config/settings.h"

namespace glovebox::config {

// What is outside, so that tests can have their own.
struct Surroundings {
  std::vector<std::string> environment;  // "NAME=value"
  std::string data_dir;                  // the default
  std::string file;                      // read if it is there
  bool is_root = false;                  // then `file` must be root's
  std::string policy;                    // the launcher's, for its uid range
  static Surroundings here();
};

struct Entry {
  const Key* key;
  std::string text;
  std::string origin;  // "default", "file /etc/glovebox/server.toml:12", "flag --listen", ...
};
using Table = std::vector<Entry>;  // in the order of the keys

struct Loaded {
  Settings settings;
  Table table;
  std::vector<std::string> rest;  // arguments that are no settings, in their order
};

// Takes --listen, --data-dir, --config, --no-config and --set (also as --listen=...) out of `args`.
Result<Loaded> load(std::span<const std::string> args, const Surroundings& surroundings);

// What can be said and not be done: refused by who serves, not ignored.
Result<> check_servable(const Loaded& loaded);

// Arguments that give another program of ours the same settings, whatever its surroundings are.
std::vector<std::string> as_arguments(const Table& table);

// The option lines for a command's --help.
extern const char* const kOptionsHelp;

}  // namespace glovebox::config
