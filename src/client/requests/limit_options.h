// --memory, --disk, --cpus and --pids as fields of a profile in a request body.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::client {

// As typed; empty: not given.
struct LimitOptions {
  std::string memory, disk;  // "1G"
  std::string cpus, pids;
  bool is_given() const {
    return !memory.empty() || !disk.empty() || !cpus.empty() || !pids.empty();
  }
};

Result<> add_limits(const LimitOptions& limits, boost::json::object& profile);

// "NAME=VALUE" of an option that may be given again, as one object.
Result<boost::json::object> named_values_json(const std::vector<std::string>& words,
                                              std::string_view option);

}  // namespace glovebox::client
