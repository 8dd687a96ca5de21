// The bytes before the body of an answer. Handlers' headers are made safe here: a name that is not
// a token is dropped and control characters in a value become spaces, so that no guest's or
// client's bytes can end a header early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace glovebox::http {

enum class AfterAnswer : std::uint8_t {
  kKeepAlive,
  kKeepAliveOld /* HTTP/1.0 */,
  kClose,
  kUpgrade
};

struct Framing {
  std::optional<std::uint64_t> content_length;  // neither: the body ends with the connection
  bool chunked = false;
  bool is_forwarded = false;  // a forwarded answer: nothing is added but its framing and Date
  AfterAnswer after = AfterAnswer::kKeepAlive;
};

// Content-Length, Transfer-Encoding, Connection and Date among `headers` are ours and ignored. Adds
// X-Request-Id, X-Content-Type-Options, and Cache-Control unless it is set.
std::string response_head(int status, const Headers& headers, std::string_view request_id,
                          const Framing& framing);

// A handler's own Content-Length; nothing if it is missing or not a number.
std::optional<std::uint64_t> content_length_of(const Headers& headers);

// 1xx, 204 and 304 have no body, whatever the handler says.
bool may_have_body(int status);

}  // namespace glovebox::http
