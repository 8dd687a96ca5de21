// The one table of settings: flags, environment variables, the file, `glovebox config` and the
// help texts all come from it. A new setting is a row here and a member in settings.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "config/settings.h"

namespace glovebox::config {

enum class Kind : std::uint8_t {
  kText,
  kPath,
  kAddress,
  kChoice,
  kList,
  kSize,
  kDuration,
  kNumber,
  kBool
};

using Member = std::variant<std::string Settings::*, std::vector<std::string> Settings::*,
                            std::uint64_t Settings::*, std::chrono::milliseconds Settings::*,
                            bool Settings::*>;

struct Key {
  std::string_view name;  // "server.listen"
  Kind kind;
  Member member;
  std::string_view default_text;
  std::string_view help;
  std::uint64_t least = 0;  // of sizes, numbers and (in milliseconds) durations
  std::uint64_t most = ~0ull;
  std::string_view choices = {};         // of kChoice: "debug|info|warn"
  std::string_view short_variable = {};  // a second, shorter environment variable
};

std::span<const Key> all_keys();
const Key* find_key(std::string_view name);

// "GLOVEBOX_SERVER_LISTEN" for "server.listen".
std::string variable_of(const Key& key);

// "; did you mean 'x'?", or nothing.
std::string suggestion_for_key(std::string_view name);

}  // namespace glovebox::config
