#include "http/status.h"

#include <cstdint>

#include "base/hex.h"
#include "base/utf8.h"

namespace glovebox::http {

ErrorStatus status_of(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument:
      return {400, "invalid_argument"};
    case Errc::kNotFound:
      return {404, "not_found"};
    case Errc::kPermissionDenied:
      return {403, "permission_denied"};
    case Errc::kPolicy:
      return {403, "policy"};
    case Errc::kUnsupported:
      return {501, "unsupported"};
    // Full now, not for ever: the route adds Retry-After.
    case Errc::kResourceExhausted:
      return {429, "resource_exhausted"};
    case Errc::kUnavailable:
      return {503, "unavailable"};
    case Errc::kTimeout:
      return {504, "timeout"};
    case Errc::kProtocol:
      return {502, "protocol"};
    case Errc::kConflict:
      return {409, "wrong_state"};
    case Errc::kInternal:
      return {500, "internal"};
  }
  return {500, "internal"};
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    default:
      return "Status";
  }
}

namespace {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t size = utf8_character_size(text);
    const char c = text[0];
    if (size == 0) {
      out += '?';
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (size == 1 && (static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F)) {
      out += "\\u00";
      append_hex(out, static_cast<unsigned char>(c));
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
}

}  // namespace

std::string error_body(std::string_view code, std::string_view message,
                       std::string_view request_id) {
  std::string out = R"({"error":{"code":)";
  append_json_string(out, code);
  out += R"(,"message":)";
  append_json_string(out, message);
  out += R"(},"request_id":)";
  append_json_string(out, request_id);
  out += '}';
  return out;
}

}  // namespace glovebox::http
