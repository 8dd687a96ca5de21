#include "dialects/e2b/envd/connect.h"

#include <cerrno>

#include "base/utf8.h"
#include "wire/json/strict_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

struct Row {
  Code code;
  std::string_view name;
  int status;
};

constexpr Row kCodes[] = {
    {Code::kCanceled, "canceled", 499},
    {Code::kUnknown, "unknown", 500},
    {Code::kInvalidArgument, "invalid_argument", 400},
    {Code::kDeadlineExceeded, "deadline_exceeded", 504},
    {Code::kNotFound, "not_found", 404},
    {Code::kAlreadyExists, "already_exists", 409},
    {Code::kPermissionDenied, "permission_denied", 403},
    {Code::kResourceExhausted, "resource_exhausted", 429},
    {Code::kFailedPrecondition, "failed_precondition", 400},
    {Code::kUnimplemented, "unimplemented", 501},
    {Code::kInternal, "internal", 500},
    {Code::kUnavailable, "unavailable", 503},
    {Code::kUnauthenticated, "unauthenticated", 401},
};

const Row& row_of(Code code) {
  for (const Row& row : kCodes) {
    if (row.code == code) return row;
  }
  return kCodes[1];
}

Code code_of(const Error& error) {
  switch (error.sys_errno()) {
    case ENOENT:
      return Code::kNotFound;
    case EEXIST:
      return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
      return Code::kPermissionDenied;
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case EINVAL:
    case ENAMETOOLONG:
      return Code::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
      return Code::kResourceExhausted;
    default:
      break;
  }
  switch (error.code()) {
    case Errc::kInvalidArgument:
      return Code::kInvalidArgument;
    case Errc::kNotFound:
      return Code::kNotFound;
    case Errc::kPermissionDenied:
    case Errc::kPolicy:
      return Code::kPermissionDenied;
    case Errc::kResourceExhausted:
      return Code::kResourceExhausted;
    case Errc::kTimeout:
      return Code::kDeadlineExceeded;
    case Errc::kUnavailable:
      return Code::kUnavailable;
    case Errc::kConflict:
      return Code::kFailedPrecondition;
    default:
      return Code::kInternal;
  }
}

json::object failure_json(const ConnectError& failure) {
  return {{"code", code_name(failure.code)}, {"message", to_utf8(failure.message)}};
}

Result<std::string_view> payload_of(std::string_view body) {
  if (body.size() < kEnvelopeHead) return fail(Errc::kInvalidArgument, "incomplete envelope");
  std::size_t size = 0;
  for (std::size_t i = 1; i < kEnvelopeHead; ++i)
    size = size << 8 | static_cast<unsigned char>(body[i]);
  if (body[0] != 0)
    return fail(Errc::kInvalidArgument, "compressed and end-of-stream envelopes are not supported");
  if (body.size() - kEnvelopeHead != size) {
    return fail(Errc::kInvalidArgument, "the body must be exactly one envelope");
  }
  return body.substr(kEnvelopeHead);
}

}  // namespace

std::string_view code_name(Code code) { return row_of(code).name; }

int code_status(Code code) { return row_of(code).status; }

ConnectError failure_of(const Error& error) { return {code_of(error), error.message()}; }

bool has_envelope(const http::Request& request) {
  return request.header("Content-Type").starts_with("application/connect+json");
}

Result<json::object> read_message(const http::Request& request) {
  return read_message(request.body, has_envelope(request));
}

Result<json::object> read_message(std::string_view body, bool has_envelope) {
  std::string_view payload = body;
  if (has_envelope) {
    TRY(payload, payload_of(body));
  }
  if (payload.empty()) return json::object();
  TRY(json::value document, wire::parse_strict_json(payload));
  if (!document.is_object()) return fail(Errc::kInvalidArgument, "the message must be an object");
  return std::move(document.get_object());
}

http::Response message_response(const json::object& message) {
  http::Response response;
  response.headers.set("Content-Type", "application/json");
  response.body = json::serialize(message);
  return response;
}

http::Response failure_response(const ConnectError& failure) {
  http::Response response = message_response(failure_json(failure));
  response.status = code_status(failure.code);
  return response;
}

std::string envelope(std::string_view payload, std::uint8_t flags) {
  std::string bytes;
  bytes.reserve(kEnvelopeHead + payload.size());
  bytes.push_back(static_cast<char>(flags));
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(payload.size() >> shift & 0xff));
  }
  bytes.append(payload);
  return bytes;
}

asio::awaitable<bool> MessageStream::begin() {
  http::Headers headers;
  headers.set("Content-Type", "application/connect+json");
  co_return co_await writer_.begin(200, std::move(headers));
}

asio::awaitable<bool> MessageStream::send(json::object message) {
  std::string bytes = envelope(json::serialize(message), 0);
  co_return co_await writer_.write(std::move(bytes));
}

asio::awaitable<bool> MessageStream::finish() {
  std::string bytes = envelope("{}", kEndOfStream);
  if (!co_await writer_.write(std::move(bytes))) co_return false;
  co_return co_await writer_.finish();
}

asio::awaitable<bool> MessageStream::fail(ConnectError failure) {
  const json::object message{{"error", failure_json(failure)}};
  std::string bytes = envelope(json::serialize(message), kEndOfStream);
  if (!co_await writer_.write(std::move(bytes))) co_return false;
  co_return co_await writer_.finish();
}

}  // namespace glovebox::e2b
