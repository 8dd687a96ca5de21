#include "client/api.h"

#include <boost/json.hpp>

#include "client/print.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

std::string error_text(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

}  // namespace

Result<Api> Api::open(Place place, http::ClientOptions options) {
  TRY(http::Url url, http::parse_url(place.url));
  http::Client client(std::move(url), std::move(options));
  return Api(std::move(place), std::move(client));
}

void Api::add_key(http::ClientRequest& request) const {
  if (!place_.key.empty()) request.headers.set("X-API-Key", place_.key);
  if (!request.body.empty()) request.headers.set("Content-Type", "application/json");
}

Error Api::explained(Error error) const {
  const int cause = error.sys_errno();
  std::string message = error.message() + " (the address is from " + place_.origin + ")";
  if (cause == ECONNREFUSED || cause == ENOENT) {
    message = "no server answers at " + place_.url + ", which is from " + place_.origin +
              "; start one with `glovebox serve`";
  }
  return Error(error.code(), std::move(message), cause);
}

Result<http::ClientResponse> Api::send(http::ClientRequest request) {
  add_key(request);
  auto response = client_.send(request);
  if (!response) return fail(explained(std::move(response.error())));
  return response;
}

Result<http::ClientResponse> Api::stream(http::ClientRequest request,
                                         http::Client::OnChunk on_chunk) {
  add_key(request);
  auto response = client_.stream(request, std::move(on_chunk));
  if (!response) return fail(explained(std::move(response.error())));
  return response;
}

Result<http::ClientResponse> Api::upload(
    http::ClientRequest request, std::optional<std::uint64_t> length,
    std::function<Result<std::size_t>(char*, std::size_t)> next) {
  add_key(request);
  auto response = client_.upload(request, length, std::move(next));
  if (!response) return fail(explained(std::move(response.error())));
  return response;
}

std::optional<Refusal> Api::refusal_of(const http::ClientResponse& response) const {
  if (response.status >= 200 && response.status < 300) return std::nullopt;
  Refusal refusal{.status = response.status, .code = "unknown", .message = {}};
  boost::system::error_code error;
  const json::value parsed = json::parse(response.body, error);
  const json::object* object = error ? nullptr : parsed.if_object();
  const json::value* said = object != nullptr ? object->if_contains("error") : nullptr;
  if (said != nullptr && said->is_object()) {
    refusal.code = error_text(said->get_object(), "code");
    refusal.message = error_text(said->get_object(), "message");
  }
  if (refusal.message.empty()) {
    refusal.message = place_.url + " answered " + std::to_string(response.status) +
                      " and not in our words; is it a Glovebox server?";
  }
  if (response.status == 401) {
    refusal.message = place_.key.empty()
                          ? "the server wants a key: say --key KEY or set GLOVEBOX_API_KEY" +
                                (place_.key_origin.empty()
                                     ? std::string()
                                     : " (" + place_.key_origin + " is not there or not yours)")
                          : "the server does not know the key from " + place_.key_origin;
  }
  return refusal;
}

Asked ask(const PlaceWords& words, http::ClientRequest request,
          std::chrono::milliseconds patience) {
  auto place = find_place(words, PlaceSurroundings::here());
  if (!place) {
    if (place.error().code() == Errc::kInvalidArgument) {
      return {.status = usage_error(place.error().message()), .body = {}};
    }
    return {.status = failure(place.error()), .body = {}};
  }
  http::ClientOptions options;
  options.io_time = patience;
  auto api = Api::open(std::move(*place), std::move(options));
  if (!api) return {.status = usage_error(api.error().message()), .body = {}};
  auto response = api->send(std::move(request));
  if (!response) return {.status = failure(response.error()), .body = {}};
  if (const auto refusal = api->refusal_of(*response)) {
    return {.status = refused(refusal->message), .body = {}};
  }
  return {.status = 0, .body = std::move(response->body)};
}

std::string url_encoded(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  return encoded;
}

}  // namespace glovebox::client
