#include "dialects/e2b/error_form.h"

#include <boost/json.hpp>

#include "base/utf8.h"
#include "http/status.h"

namespace glovebox::e2b {

http::Response refusal(int status, std::string_view message) {
  const boost::json::object body{{"code", status}, {"message", to_utf8(message)}};
  return http::Response::json(boost::json::serialize(body), status);
}

http::Response refusal(const Error& error) {
  return refusal(http::status_of(error.code()).status, error.message());
}

http::Response error_form(const http::Response& refused, const Error* error) {
  if (error != nullptr) return refusal(*error);
  http::Response response = refusal(refused.status, refused.problem->message);
  for (const auto& [name, value] : refused.headers) {
    if (response.headers.find(name) == nullptr) response.headers.add(name, value);
  }
  return response;
}

}  // namespace glovebox::e2b
