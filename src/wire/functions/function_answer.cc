#include "wire/functions/function_answer.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/base64.h"
#include "wire/json/json_fields.h"
#include "wire/json/strict_json.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxResultDepth = 64;
constexpr std::size_t kMaxResultValues = 500'000;
constexpr std::size_t kMaxErrorBytes = std::size_t{2} << 20;
constexpr std::size_t kMaxFrames = 200;
constexpr double kMostMs = 1e9;

// What the guest half report.
struct HandlerReport {
  std::optional<std::string> value;  // JSON
  std::optional<json::object> error;
  std::optional<double> import_ms;
  std::optional<double> handler_ms;
};

json::object error_object(std::string_view type, std::string_view message,
                          const std::string& request_id) {
  return {{"errorMessage", message},
          {"errorType", type},
          {"requestId", request_id},
          {"stackTrace", json::array()}};
}

json::array frames_of(const json::value& value) {
  json::array frames;
  if (!value.is_array()) return frames;
  for (const json::value& frame : value.get_array()) {
    if (frame.is_string() && frames.size() < kMaxFrames) frames.push_back(frame);
  }
  return frames;
}

// Lambda's fields and no others.
json::object function_error(std::string_view encoded, const FunctionCallInfo& about) {
  const auto text = base64_decode(encoded);
  auto parsed = text && text->size() <= kMaxErrorBytes
                    ? parse_strict_json(*text, {.depth = 4, .values = 2000})
                    : Result<json::value>(fail(Errc::kProtocol, "not an error"));
  const json::object* object = parsed ? parsed->if_object() : nullptr;
  if (object == nullptr) {
    return error_object("Runtime.Unknown", "the handler failed, and its error cannot be read",
                        about.request_id);
  }
  json::object error = error_object(text_in(*object, "errorType"), text_in(*object, "errorMessage"),
                                    about.request_id);
  for (const std::string_view name : {"stackTrace", "trace"}) {
    if (const json::value* frames = object->if_contains(name)) error[name] = frames_of(*frames);
  }
  return error;
}

std::optional<double> milliseconds_in(const json::object& line, std::string_view name) {
  const json::value* value = line.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double ms = value->to_number<double>();
  if (!(ms >= 0 && ms <= kMostMs)) return std::nullopt;
  return ms;
}

// Blanks between the values of good JSON can be ends of lines, and answers are lines: with one of
// its own a guest could begin a line of ours. Within strings there are none.
std::string on_one_line(std::string json_text) {
  std::replace_if(
      json_text.begin(), json_text.end(),
      [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return json_text;
}

// Nothing when the line is none of the guest half's.
std::optional<HandlerReport> parse_line(std::string_view line, const FunctionCallInfo& about) {
  if (!line.starts_with("{\"type\":\"function\"")) return std::nullopt;
  const auto parsed = parse_strict_json(line, {.depth = 2, .values = 16});
  const json::object* object = parsed ? parsed->if_object() : nullptr;
  if (object == nullptr) return std::nullopt;
  HandlerReport report;
  report.import_ms = milliseconds_in(*object, "import_ms");
  report.handler_ms = milliseconds_in(*object, "handler_ms");
  const json::value* value = object->if_contains("value");
  const json::value* error = object->if_contains("error");
  if (error != nullptr && error->is_string()) {
    report.error = function_error(error->get_string(), about);
  } else if (value != nullptr && value->is_string()) {
    auto text = base64_decode(value->get_string());
    const auto checked =
        text ? parse_strict_json(*text, {.depth = kMaxResultDepth, .values = kMaxResultValues})
             : Result<json::value>(fail(std::move(text.error())));
    if (checked) {
      report.value = on_one_line(std::move(*text));
    } else {
      report.error = error_object("Runtime.MarshalError",
                                  "Unable to marshal response: " + checked.error().message(),
                                  about.request_id);
    }
  } else {
    return std::nullopt;
  }
  return report;
}

HandlerReport last_report(const RunAnswer& answer, const FunctionCallInfo& about) {
  for (auto line = answer.results.rbegin(); line != answer.results.rend(); ++line) {
    if (auto report = parse_line(*line, about)) return std::move(*report);
  }
  return {};
}

std::string seconds(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", static_cast<double>(time.count()) / 1000);
  return text;
}

std::string lower(const char* text) {
  std::string out = text != nullptr ? text : "";
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string exit_reason(const Outcome& outcome) {
  if (outcome.signal != 0) {
    return "Runtime exited with error: signal: " + lower(::strsignal(outcome.signal));
  }
  if (outcome.exit_code == 0) return "Runtime exited without providing a reason";
  return "Runtime exited with error: exit status " + std::to_string(outcome.exit_code);
}

// How it ended if the handler did not report it; nothing if its own report counts.
std::optional<json::object> end_of(const RunAnswer& answer, const FunctionCallInfo& about,
                                   const HandlerReport& report) {
  const Outcome& outcome = answer.outcome;
  const auto error = [&](std::string_view type, const std::string& message) {
    return error_object(type, "RequestId: " + about.request_id + " Error: " + message,
                        about.request_id);
  };
  if (answer.cancelled) return error("Sandbox.Cancelled", "Task was cancelled");
  if (outcome.timed_out) {
    return error("Sandbox.Timedout",
                 outcome.cpu_exceeded
                     ? "Task used up its CPU time"
                     : "Task timed out after " + seconds(about.timeout) + " seconds");
  }
  if (report.value && outcome.exit_code == 0) return std::nullopt;
  if (outcome.oom_killed) {
    return error("Runtime.OutOfMemory", "Runtime exited with error: signal: killed");
  }
  if (report.error) return std::nullopt;
  return error("Runtime.ExitError", exit_reason(outcome));
}

std::string ms_or_null(const std::optional<double>& ms) {
  if (!ms) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", *ms);
  return text;
}

}  // namespace

std::string function_exit_json(RunAnswer& answer, const FunctionCallInfo& about) {
  HandlerReport report = last_report(answer, about);
  if (auto end = end_of(answer, about, report)) {
    report.value.reset();
    report.error = std::move(end);
  }
  if (report.error && answer.outcome.exit_code == 0) answer.outcome.exit_code = 1;
  std::string text = "{\"result\":" + (report.error ? "null" : *report.value);
  text += ",\"error\":" + (report.error ? json::serialize(*report.error) : "null");
  text += ",\"aws_request_id\":" + json::serialize(json::string(about.request_id));
  text += ",\"timeout_ms\":" + std::to_string(about.timeout.count());
  // As the guest reports it.
  text += ",\"phases\":{\"import_ms\":" + ms_or_null(report.import_ms) +
          ",\"handler_ms\":" + ms_or_null(report.handler_ms) + "}";
  return text + "," + run_frame_json(answer).substr(1);
}

}  // namespace glovebox::wire
