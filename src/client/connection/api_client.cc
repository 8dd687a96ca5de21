#include "client/connection/api_client.h"

#include <boost/json.hpp>

#include "base/percent_encoding.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

std::string rejected_key_message(const ServerLocation& location) {
  if (!location.key.empty()) {
    return "the server rejected the key from " + location.key_origin;
  }
  std::string message = "the server requires a key: use --key KEY or set GLOVEBOX_API_KEY";
  if (!location.key_origin.empty()) {
    message += " (" + location.key_origin + " does not exist or is not readable)";
  }
  return message;
}

}  // namespace

Result<ApiClient> ApiClient::open(ServerLocation location, http::ClientOptions options) {
  TRY(http::Url url, http::parse_url(location.url));
  http::Client client(std::move(url), std::move(options));
  return ApiClient(std::move(location), std::move(client));
}

Result<ApiClient> ApiClient::connect(const ServerLocationOptions& options,
                                     http::ClientOptions http_options) {
  TRY(ServerLocation location, find_server_location(options, ServerLocationEnvironment::here()));
  return open(std::move(location), std::move(http_options));
}

void ApiClient::add_key(http::ClientRequest& request) const {
  if (!location_.key.empty()) request.headers.set("X-API-Key", location_.key);
  if (!request.body.empty()) request.headers.set("Content-Type", "application/json");
}

Error ApiClient::explained(Error error) const {
  const int cause = error.sys_errno();
  std::string message = error.message() + " (the address is from " + location_.origin + ")";
  if (cause == ECONNREFUSED || cause == ENOENT) {
    message = "no server responds at " + location_.url + " (the address is from " +
              location_.origin + "); start one with `glovebox serve`";
  }
  return Error(error.code(), std::move(message), cause);
}

Result<http::ClientResponse> ApiClient::send(http::ClientRequest request) {
  add_key(request);
  auto response = client_.send(request);
  if (!response) return fail(explained(std::move(response.error())));
  return response;
}

Result<http::ClientResponse> ApiClient::stream(http::ClientRequest request,
                                               http::Client::OnChunk on_chunk) {
  add_key(request);
  auto response = client_.stream(request, std::move(on_chunk));
  if (!response) return fail(explained(std::move(response.error())));
  return response;
}

Result<http::ClientResponse> ApiClient::upload(
    http::ClientRequest request, std::optional<std::uint64_t> length,
    std::function<Result<std::size_t>(char*, std::size_t)> next) {
  add_key(request);
  auto response = client_.upload(request, length, std::move(next));
  if (!response) return fail(explained(std::move(response.error())));
  return response;
}

std::optional<ApiError> ApiClient::error_in(const http::ClientResponse& response) const {
  if (response.status >= 200 && response.status < 300) return std::nullopt;
  ApiError api_error{.status = response.status, .code = "unknown", .message = {}};
  boost::system::error_code error;
  const json::value parsed = json::parse(response.body, error);
  const json::object* object = error ? nullptr : parsed.if_object();
  const json::value* body = object != nullptr ? object->if_contains("error") : nullptr;
  if (body != nullptr && body->is_object()) {
    api_error.code = string_field(body->get_object(), "code");
    api_error.message = string_field(body->get_object(), "message");
  }
  if (api_error.message.empty()) {
    api_error.message = location_.url + " responded with status " +
                        std::to_string(response.status) +
                        " and no error message; is it a Glovebox server?";
  }
  if (response.status == 401) api_error.message = rejected_key_message(location_);
  return api_error;
}

http::ClientRequest get_request(std::string target) {
  return {.method = http::Method::kGet, .target = std::move(target), .headers = {}, .body = {}};
}

http::ClientRequest post_request(std::string target, std::string body) {
  return {.method = http::Method::kPost,
          .target = std::move(target),
          .headers = {},
          .body = std::move(body)};
}

http::ClientRequest delete_request(std::string target) {
  return {.method = http::Method::kDelete, .target = std::move(target), .headers = {}, .body = {}};
}

CommandResponse send_and_report(const ServerLocationOptions& options, http::ClientRequest request,
                                std::chrono::milliseconds timeout) {
  http::ClientOptions http_options;
  http_options.io_time = timeout;
  auto api = ApiClient::connect(options, std::move(http_options));
  if (!api) return {.status = usage_error_or_failure(api.error()), .body = {}};
  auto response = api->send(std::move(request));
  if (!response) return {.status = failure(response.error()), .body = {}};
  if (const auto error = api->error_in(*response)) {
    return {.status = server_refused(error->message), .body = {}};
  }
  return {.status = 0, .body = std::move(response->body)};
}

}  // namespace glovebox::client
