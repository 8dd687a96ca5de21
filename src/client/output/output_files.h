// Writes the output files of a run's response to the host paths of --out.
#pragma once

#include <boost/json/fwd.hpp>
#include <span>
#include <string>

#include "base/result.h"

namespace glovebox::client {

struct OutputFile {
  std::string guest;
  std::string host;
};

// "/guest/file:host/file".
Result<OutputFile> parse_output_file(const std::string& word);

// Stops at the first file that is missing or cannot be written. An existing file is replaced
// atomically.
Result<> write_output_files(const boost::json::object& response, std::span<const OutputFile> files);

}  // namespace glovebox::client
