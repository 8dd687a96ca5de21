#include "http/server/response_head.h"

#include <charconv>
#include <ctime>

#include "http/status.h"

namespace glovebox::http {

namespace {

bool is_token(std::string_view name) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      kMarks.find(c) != std::string_view::npos;
    if (!good) return false;
  }
  return !name.empty();
}

bool is_lower_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char x = a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] - 'A' + 'a') : a[i];
    if (x != b[i]) return false;
  }
  return true;
}

bool is_set_by_server(std::string_view name, const Framing& framing) {
  for (const std::string_view own : {"content-length", "transfer-encoding", "connection", "date"}) {
    if (is_lower_name(name, own)) return true;
  }
  if (framing.is_forwarded) return false;
  return is_lower_name(name, "x-request-id") || is_lower_name(name, "x-content-type-options");
}

// Made once a second, not once an answer.
std::string_view date_line() {
  static std::time_t made_at = 0;
  static char line[64];
  static std::size_t size = 0;
  const std::time_t now = std::time(nullptr);
  if (now != made_at) {
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    size = std::strftime(line, sizeof line, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    made_at = now;
  }
  return {line, size};
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    out += (byte < 0x20 && c != '\t') || byte == 0x7F ? ' ' : c;
  }
  out += "\r\n";
}

}  // namespace

std::optional<std::uint64_t> content_length_of(const Headers& headers) {
  const std::string_view text = headers.get("Content-Length");
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool is_valid = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return is_valid ? std::optional<std::uint64_t>(length) : std::nullopt;
}

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string response_head(int status, const Headers& headers, std::string_view request_id,
                          const Framing& framing) {
  std::string out;
  out.reserve(384);
  out += "HTTP/1.1 ";
  out += std::to_string(status);
  out += ' ';
  out += reason_phrase(status);
  out += "\r\n";
  out += date_line();
  bool has_cache_control = false;
  for (const auto& [name, value] : headers) {
    if (!is_token(name) || is_set_by_server(name, framing)) continue;
    has_cache_control = has_cache_control || is_lower_name(name, "cache-control");
    append_field(out, name, value);
  }
  if (!framing.is_forwarded) {
    append_field(out, "X-Request-Id", request_id);
    out += "X-Content-Type-Options: nosniff\r\n";
    if (!has_cache_control) out += "Cache-Control: no-store\r\n";
  }
  if (framing.content_length && may_have_body(status)) {
    append_field(out, "Content-Length", std::to_string(*framing.content_length));
  }
  if (framing.chunked) out += "Transfer-Encoding: chunked\r\n";
  if (framing.after == AfterAnswer::kUpgrade) out += "Connection: Upgrade\r\n";
  if (framing.after == AfterAnswer::kClose) out += "Connection: close\r\n";
  if (framing.after == AfterAnswer::kKeepAliveOld) out += "Connection: keep-alive\r\n";
  out += "\r\n";
  return out;
}

}  // namespace glovebox::http
