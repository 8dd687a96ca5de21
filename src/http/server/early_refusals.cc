#include "http/server/early_refusals.h"

#include <strings.h>

#include <string>
#include <utility>

#include "http/router.h"

namespace glovebox::http {
namespace {

Response with_retry_after(Response response) {
  response.headers.add("Retry-After", "1");
  return response;
}

}  // namespace

Response refuse_unread(ReadResult why, std::size_t max_body) {
  switch (why) {
    case ReadResult::kTimeout:
      return Response::refuse(408, "request_timeout", "the request took too long to arrive");
    case ReadResult::kHeaderTooLarge:
      return Response::refuse(431, "header_too_large", "the header is too large");
    case ReadResult::kBodyTooLarge:
      return refuse_large_body(max_body);
    case ReadResult::kNoRoom:
      return refuse_body_for_now();
    default:
      return Response::refuse(400, "malformed_request", "malformed HTTP/1.1 request");
  }
}

Response refuse_method(const std::vector<Method>& allowed) {
  Response response = Response::refuse(405, "method_not_allowed",
                                       "method not allowed for this path; see the Allow header");
  response.headers.add("Allow", allow_header(allowed));
  return response;
}

std::optional<Response> refuse_expectation(const Request& request) {
  const std::string expects(request.header("Expect"));
  if (expects.empty() || ::strcasecmp(expects.c_str(), "100-continue") == 0) return std::nullopt;
  return Response::refuse(417, "expectation_failed",
                          "unsupported Expect header; only 100-continue is supported");
}

Response refuse_large_body(std::size_t limit) {
  return Response::refuse(413, "body_too_large",
                          "the body is larger than " + std::to_string(limit) + " bytes");
}

Response refuse_request_for_now() {
  return with_retry_after(
      Response::refuse(503, "too_many_requests_in_progress", "too many requests in progress"));
}

void hold_answer(Response& response, FairShare::Part& held) {
  constexpr std::size_t kSmallAnswer = 64 << 10;
  if (response.body.size() <= kSmallAnswer || response.holds != nullptr) return;
  if (held.may_grow()) return held.set(response.body.size());
  response = with_retry_after(Response::refuse(
      503, "too_many_answers", "too many large answers wait to be read; try again shortly"));
}

Response refuse_body_for_now() {
  return with_retry_after(Response::refuse(
      503, "too_many_bodies", "too many request bodies are buffered; try again shortly"));
}

}  // namespace glovebox::http
