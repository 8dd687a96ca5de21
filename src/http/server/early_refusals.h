// Refusals of requests that need no handler. Private to src/http.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "http/message.h"
#include "http/server/fair_share.h"

namespace glovebox::http {

// How the reading of a header or of a body ended.
enum class ReadResult : std::uint8_t {
  kDone,
  kEnded,
  kTimeout,
  kMalformed,
  kHeaderTooLarge,
  kBodyTooLarge,
  kNoRoom,  // for bodies, all of them together
};

// Of a request that was not read to its end; `max_body` is the limit of its body.
Response refuse_unread(ReadResult why, std::size_t max_body);
Response refuse_method(const std::vector<Method>& allowed);
std::optional<Response> refuse_expectation(const Request& request);  // other than 100-continue
Response refuse_large_body(std::size_t limit);
Response refuse_request_for_now();  // too many are served
Response refuse_body_for_now();     // too many bodies are buffered
// A large answer is in memory until the client has taken it: counts it, unless it has a claim of
// its own, or refuses it in its place if its owner has too many.
void hold_answer(Response& response, FairShare::Part& held);

}  // namespace glovebox::http
