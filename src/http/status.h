// The one table from our errors to HTTP: status and stable code.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace glovebox::http {

struct ErrorStatus {
  int status;
  std::string_view code;
};

ErrorStatus status_of(Errc code);
std::string_view reason_phrase(int status);

// {"error":{"code":...,"message":...},"request_id":...}; bytes that are not UTF-8 become "?".
std::string error_body(std::string_view code, std::string_view message,
                       std::string_view request_id);

}  // namespace glovebox::http
