#include "http/server/early_refusals.h"

#include <string>
#include <utility>

namespace glovebox::http {
namespace {

Response with_retry_after(Response response) {
  response.headers.add("Retry-After", "1");
  return response;
}

}  // namespace

Response refuse_large_body(std::size_t limit) {
  return Response::refuse(413, "body_too_large",
                          "the body is larger than " + std::to_string(limit) + " bytes");
}

Response refuse_request_for_now() {
  return with_retry_after(
      Response::refuse(503, "too_many_requests_in_progress", "too many requests in progress"));
}

Response refuse_body_for_now() {
  return with_retry_after(Response::refuse(
      503, "too_many_bodies", "too many request bodies are buffered; try again shortly"));
}

}  // namespace glovebox::http
