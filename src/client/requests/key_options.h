// The options of `glovebox key create` as the body of POST /v1/keys, and the two forms of a key.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::client {

struct NewKeyOptions {
  std::string project;
  std::string name;
  bool admin = false;
  std::string max_in_flight;
  std::string runs_per_minute;
  std::string max_memory;  // "4G"
};

Result<std::string> new_key_json(const NewKeyOptions& key);

// "gbx_0123" -> "e2b_0123": the same secret with the prefix that E2B clients require.
std::string e2b_form(const std::string& key);

}  // namespace glovebox::client
