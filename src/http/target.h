// The target of a request line, taken apart. Hand-written and fed by anybody: fuzzed in
// tests/fuzz/http_target.cc.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace glovebox::http {

enum class Plus : bool { kIsPlus, kIsSpace };

// "%41" -> "A". An incomplete or wrong escape is an error.
Result<std::string> percent_decode(std::string_view text, Plus plus = Plus::kIsPlus);
// Everything but [A-Za-z0-9-._~] becomes an escape: safe as one segment or one query value.
std::string percent_encode(std::string_view text);

struct Target {
  std::string raw_path;  // undecoded, "/..." or "*"
  std::string path;      // decoded, without NUL
  Params query;          // decoded
  std::string host;      // of the absolute form "http://host/path"; else ""
};
Result<Target> parse_target(std::string_view text);

}  // namespace glovebox::http
