// Refusals of requests that need no handler. Private to src/http.
#pragma once

#include <cstddef>

#include "http/message.h"

namespace glovebox::http {

Response refuse_large_body(std::size_t limit);
Response refuse_request_for_now();  // too many are served
Response refuse_body_for_now();     // too many bodies are buffered

}  // namespace glovebox::http
