// The target of a request line, parsed. Hand-written for untrusted input: fuzzed in
// tests/fuzz/http_target.cc.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace glovebox::http {

struct Target {
  std::string raw_path;  // undecoded, "/..." or "*"
  std::string path;      // decoded, without NUL
  Params query;          // decoded
  std::string host;      // of the absolute form "http://host/path"; else ""
};
Result<Target> parse_target(std::string_view text);

}  // namespace glovebox::http
