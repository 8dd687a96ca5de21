// Files that come back with a run's answer, put where --out said.
#pragma once

#include <boost/json/fwd.hpp>
#include <span>
#include <string>

#include "base/result.h"

namespace glovebox::client {

struct OutFile {
  std::string guest;
  std::string host;
};

// "/guest/file:host/file".
Result<OutFile> parse_out_file(const std::string& word);

// All of them, or the error of the first that did not come or cannot be written. A file that was
// there before is replaced whole or not at all.
Result<> copy_out(const boost::json::object& answer, std::span<const OutFile> files);

}  // namespace glovebox::client
