#include "wire/function_answer.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include "wire/base64_decode.h"
#include "wire/json_fields.h"
#include "wire/strict_json.h"
#include "wire/utf8.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxResultDepth = 64;
constexpr std::size_t kMaxResultValues = 500'000;
constexpr std::size_t kMaxErrorBytes = std::size_t{2} << 20;
constexpr std::size_t kMaxFrames = 200;
constexpr double kMostMs = 1e9;

// What the guest half said.
struct Said {
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
json::object function_error(std::string_view encoded, const FunctionAbout& about) {
  const auto text = base64_decode(encoded);
  auto parsed = text && text->size() <= kMaxErrorBytes
                    ? parse_strict_json(*text, {.depth = 4, .values = 2000})
                    : Result<json::value>(fail(Errc::kProtocol, "not an error"));
  const json::object* words = parsed ? parsed->if_object() : nullptr;
  if (words == nullptr) {
    return error_object("Runtime.Unknown", "the handler failed, and its error cannot be read",
                        about.request_id);
  }
  json::object error =
      error_object(text_in(*words, "errorType"), text_in(*words, "errorMessage"), about.request_id);
  for (const std::string_view name : {"stackTrace", "trace"}) {
    if (const json::value* frames = words->if_contains(name)) error[name] = frames_of(*frames);
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
std::optional<Said> parse_line(std::string_view line, const FunctionAbout& about) {
  if (!line.starts_with("{\"type\":\"function\"")) return std::nullopt;
  const auto parsed = parse_strict_json(line, {.depth = 2, .values = 16});
  const json::object* words = parsed ? parsed->if_object() : nullptr;
  if (words == nullptr) return std::nullopt;
  Said said;
  said.import_ms = milliseconds_in(*words, "import_ms");
  said.handler_ms = milliseconds_in(*words, "handler_ms");
  const json::value* value = words->if_contains("value");
  const json::value* error = words->if_contains("error");
  if (error != nullptr && error->is_string()) {
    said.error = function_error(error->get_string(), about);
  } else if (value != nullptr && value->is_string()) {
    auto text = base64_decode(value->get_string());
    const auto checked =
        text ? parse_strict_json(*text, {.depth = kMaxResultDepth, .values = kMaxResultValues})
             : Result<json::value>(fail(std::move(text.error())));
    if (checked) {
      said.value = on_one_line(std::move(*text));
    } else {
      said.error = error_object("Runtime.MarshalError",
                                "Unable to marshal response: " + checked.error().message(),
                                about.request_id);
    }
  } else {
    return std::nullopt;
  }
  return said;
}

Said last_word(const RunAnswer& answer, const FunctionAbout& about) {
  for (auto line = answer.results.rbegin(); line != answer.results.rend(); ++line) {
    if (auto said = parse_line(*line, about)) return std::move(*said);
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

// How it ended when the handler itself did not say; nothing when it may speak for itself.
std::optional<json::object> end_of(const RunAnswer& answer, const FunctionAbout& about,
                                   const Said& said) {
  const Outcome& outcome = answer.outcome;
  const auto error = [&](std::string_view type, const std::string& message) {
    return error_object(type, "RequestId: " + about.request_id + " Error: " + message,
                        about.request_id);
  };
  if (answer.cancelled) return error("Sandbox.Cancelled", "Task was ended before its time");
  if (outcome.timed_out) {
    // Which of the two clocks it was is not told.
    const bool of_cpu = about.has_cpu_limit && outcome.wall < about.timeout * 3 / 4;
    return error("Sandbox.Timedout",
                 of_cpu ? "Task used up its CPU time"
                        : "Task timed out after " + seconds(about.timeout) + " seconds");
  }
  if (said.value && outcome.exit_code == 0) return std::nullopt;
  if (outcome.oom_killed) {
    return error("Runtime.OutOfMemory", "Runtime exited with error: signal: killed");
  }
  if (said.error) return std::nullopt;
  return error("Runtime.ExitError", exit_reason(outcome));
}

std::string ms_or_null(const std::optional<double>& ms) {
  if (!ms) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", *ms);
  return text;
}

}  // namespace

std::string function_exit_json(RunAnswer& answer, const FunctionAbout& about) {
  Said said = last_word(answer, about);
  if (auto end = end_of(answer, about, said)) {
    said.value.reset();
    said.error = std::move(end);
  }
  if (said.error && answer.outcome.exit_code == 0) answer.outcome.exit_code = 1;
  std::string text = "{\"result\":" + (said.error ? "null" : *said.value);
  text += ",\"error\":" + (said.error ? json::serialize(*said.error) : "null");
  text += ",\"aws_request_id\":" + json::serialize(json::string(about.request_id));
  text += ",\"timeout_ms\":" + std::to_string(about.timeout.count());
  // The guest's own word.
  text += ",\"phases\":{\"import_ms\":" + ms_or_null(said.import_ms) +
          ",\"handler_ms\":" + ms_or_null(said.handler_ms) + "}";
  return text + "," + run_frame_json(answer).substr(1);
}

}  // namespace glovebox::wire
