#include "dialects/e2b/interpreter/interpreter_stream.h"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "base/hex.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "wire/guest/guest_result.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kFields{{
    {"text/plain", "text"},
    {"text/html", "html"},
    {"text/markdown", "markdown"},
    {"image/svg+xml", "svg"},
    {"image/png", "png"},
    {"image/jpeg", "jpeg"},
    {"application/pdf", "pdf"},
    {"text/latex", "latex"},
    {"application/json", "json"},
    {"application/javascript", "javascript"},
    {wire::kTableMime, "data"},
    {wire::kChartMime, "chart"},
    // What a program returns itself, as it would in E2B.
    {"e2b/data", "data"},
    {"e2b/chart", "chart"},
}};

std::string_view field_of(std::string_view mime) {
  for (const auto& [known, field] : kFields) {
    if (known == mime) return field;
  }
  return {};
}

// Clients expect the text of a string, not its literal.
void strip_quotes(json::value& text) {
  json::string* string = text.if_string();
  if (string == nullptr || string->size() < 2) return;
  const char first = string->front();
  if ((first == '\'' || first == '"') && string->back() == first) {
    const std::string inner(string->subview(1, string->size() - 2));
    *string = inner;
  }
}

json::object result_event(wire::GuestResult result) {
  json::object event{{"type", "result"}, {"is_main_result", result.main}};
  json::object extra;
  for (auto& form : result.content) {
    const std::string_view field = field_of(form.key());
    if (field.empty()) {
      extra[form.key()] = std::move(form.value());
    } else if (field == "json" || field == "data" || field == "chart") {
      // Clients expect these to be objects.
      if (form.value().is_structured()) event[field] = std::move(form.value());
    } else if (form.value().is_string()) {
      if (field == "text") strip_quotes(form.value());
      event[field] = std::move(form.value());
    }
  }
  event["extra"] = std::move(extra);
  return event;
}

json::object error_event(std::string_view name, std::string_view value,
                         std::string_view traceback) {
  return {{"type", "error"}, {"name", name}, {"value", value}, {"traceback", traceback}};
}

json::object error_event(const wire::GuestResult& error) {
  const auto text = [&error](std::string_view name) {
    const json::value* found = error.content.if_contains(name);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
  };
  std::string traceback;
  if (const json::value* lines = error.content.if_contains("traceback");
      lines != nullptr && lines->is_array()) {
    for (const json::value& line : lines->get_array()) {
      if (!traceback.empty()) traceback += '\n';
      if (line.is_string()) traceback += line.get_string();
    }
  }
  // Without its module: "JSONDecodeError".
  const std::string name = text("name");
  return error_event(std::string_view(name).substr(name.rfind('.') + 1), text("message"),
                     traceback);
}

void append_escape(std::string& out, std::uint32_t unit) {
  out += "\\u";
  append_hex(out, static_cast<unsigned char>(unit >> 8));
  append_hex(out, static_cast<unsigned char>(unit));
}

}  // namespace

std::string ascii_json(const json::value& value) {
  // Bytes above 127 occur only in strings, and serialize() writes UTF-8.
  std::string text = json::serialize(value);
  const auto other = std::find_if(text.begin(), text.end(),
                                  [](char c) { return static_cast<signed char>(c) < 0; });
  if (other == text.end()) return text;  // large images, for example
  std::string out(text.begin(), other);
  out.reserve(text.size());
  for (auto i = static_cast<std::size_t>(other - text.begin()); i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      out += text[i++];
      continue;
    }
    const int more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    std::uint32_t point = byte & (0x3fu >> more);
    ++i;
    for (int k = 0; k < more && i < text.size(); ++k, ++i) {
      point = (point << 6) | (static_cast<unsigned char>(text[i]) & 0x3fu);
    }
    if (point >= 0x10000) {
      append_escape(out, 0xd800 + ((point - 0x10000) >> 10));
      append_escape(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
    } else {
      append_escape(out, point);
    }
  }
  return out;
}

json::object execution_event(std::string_view guest_line) {
  auto result = wire::parse_guest_result(guest_line);
  if (!result) return {};
  return result->is_error ? error_event(*result) : result_event(std::move(*result));
}

asio::awaitable<bool> ExecutionStream::begin() {
  http::Headers headers{{"Content-Type", "application/x-ndjson"},
                        {"Cache-Control", "no-store"},
                        {"X-Accel-Buffering", "no"}};
  const bool there = co_await writer_.begin(200, std::move(headers));
  last_ = Clock::now();
  runs_keepalive_ = true;
  asio::co_spawn(io_, keep_alive(), asio::detached);
  co_return there;
}

asio::awaitable<void> ExecutionStream::stop_keepalive() {
  is_stopped_ = true;
  timer_.cancel();
  while (runs_keepalive_) {
    ended_.expires_at(Clock::time_point::max());
    co_await ended_.async_wait(kAwaitTuple);
  }
}

asio::awaitable<void> ExecutionStream::keep_alive() {
  bool there = true;
  while (!is_stopped_ && there) {
    timer_.expires_at(last_ + kKeepaliveInterval);
    co_await timer_.async_wait(kAwaitTuple);
    if (is_stopped_) break;
    if (writing_) last_ = Clock::now();  // the client is slow
    if (Clock::now() < last_ + kKeepaliveInterval) continue;
    json::object line{{"type", "keepalive"}};
    there = co_await send(std::move(line));
  }
  runs_keepalive_ = false;
  ended_.cancel();
}

asio::awaitable<bool> ExecutionStream::send(json::object line) {
  const std::string text = ascii_json(line) + "\n";
  while (writing_) {
    free_.expires_at(Clock::time_point::max());
    co_await free_.async_wait(kAwaitTuple);
  }
  writing_ = true;
  const bool there = co_await writer_.write_view(text);
  writing_ = false;
  last_ = Clock::now();
  free_.cancel();
  co_return there;
}

asio::awaitable<bool> ExecutionStream::send_text(bool is_stderr, std::string text) {
  json::object line{{"type", is_stderr ? "stderr" : "stdout"},
                    {"text", std::move(text)},
                    {"timestamp", utc_text(wall_clock_ms())}};
  co_return co_await send(std::move(line));
}

asio::awaitable<void> ExecutionStream::number(std::uint64_t executions) {
  json::object line{{"type", "number_of_executions"}, {"execution_count", executions}};
  co_await send(std::move(line));
}

asio::awaitable<bool> ExecutionStream::on_output(bool is_stderr, std::string_view bytes) {
  const std::string_view whole = (is_stderr ? err_ : out_).add(bytes);
  if (whole.empty()) co_return true;
  co_return co_await send_text(is_stderr, to_utf8(whole));
}

asio::awaitable<bool> ExecutionStream::on_result(std::string_view json_line) {
  json::object event = execution_event(json_line);
  if (event.empty()) co_return true;
  has_error_ = has_error_ || event["type"] == "error";
  co_return co_await send(std::move(event));
}

asio::awaitable<bool> ExecutionStream::error(std::string name, std::string value) {
  has_error_ = true;
  json::object event = error_event(name, to_utf8(value), "");
  co_return co_await send(std::move(event));
}

asio::awaitable<bool> ExecutionStream::finish() {
  for (const bool is_stderr : {false, true}) {
    const std::string rest((is_stderr ? err_ : out_).rest());
    if (!rest.empty()) co_await send_text(is_stderr, to_utf8(rest));
  }
  json::object line{{"type", "end_of_execution"}};
  const bool there = co_await send(std::move(line));
  if (!there) co_return false;
  co_return co_await writer_.finish();
}

}  // namespace glovebox::e2b
