// `glovebox key create`: its words as the body of POST /v1/keys.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::client {

struct NewKeyWords {
  std::string project;
  std::string name;
  bool admin = false;
  std::string max_in_flight;
  std::string runs_per_minute;
  std::string max_memory;  // "4G"
};

Result<std::string> new_key_json(const NewKeyWords& words);

}  // namespace glovebox::client
