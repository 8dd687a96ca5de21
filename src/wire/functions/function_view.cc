#include "wire/functions/function_view.h"

#include <boost/json.hpp>
#include <cstdio>

#include "base/utf8.h"
#include "wire/json/json_fields.h"
#include "wire/json/raw_json.h"
#include "wire/network/net_refusals.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 128;

const json::object* object_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr ? value->if_object() : nullptr;
}

bool is_true(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<double> number_in(const json::object* object, std::string_view name) {
  const json::value* value = object != nullptr ? object->if_contains(name) : nullptr;
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

int status_of(const json::object& answer, const json::object* error) {
  if (error == nullptr) return kFunctionDone;
  if (is_true(answer, "timed_out")) return kFunctionTimedOut;
  const std::string type = text_in(*error, "errorType");
  if (type == "Runtime.UserCodeSyntaxError" || type == "Runtime.HandlerNotFound") {
    return kFunctionUndefined;
  }
  return kFunctionFailed;
}

// One line of it, however long the message is.
std::string short_line(const std::string& text) {
  constexpr std::size_t kMost = 400;
  std::string line = text.substr(0, std::min(text.find('\n'), kMost));
  if (line.size() < text.size()) line += " ...";
  return printable(line);
}

// What the network policy refused; or, if there was no network and the error seems to be about
// that, how to have one.
std::string network_remark(const json::object& answer, const json::object* error) {
  const json::object* metrics = object_in(answer, "metrics");
  const json::value* network = metrics != nullptr ? metrics->if_contains("network") : nullptr;
  if (network == nullptr) return {};
  std::string line;
  if (network->is_object()) {
    std::vector<std::string> messages;
    const json::value* refusals = network->get_object().if_contains("refusals");
    if (refusals == nullptr || !refusals->is_array()) return {};
    for (const json::value& one : refusals->get_array()) {
      const std::string message = one.is_object() ? text_in(one.get_object(), "message") : "";
      if (!message.empty()) messages.push_back(message);
    }
    line = refusals_line(messages);
  } else if (error != nullptr) {
    NetworkErrorDetector detector;
    detector.add(text_in(*error, "errorMessage"));
    if (detector.found()) line = kNoNetworkHint;
  }
  return line.empty() ? line : "sandbox-run: " + line + "\n";
}

std::string remarks_of(const json::object& answer, const json::object* error) {
  std::string text;
  if (error != nullptr) {
    text += "sandbox-run: " +
            short_line(text_in(*error, "errorType") + ": " + text_in(*error, "errorMessage")) +
            "\n";
  }
  if (is_true(answer, "truncated")) text += "sandbox-run: logs past the limit were dropped\n";
  return text + network_remark(answer, error);
}

std::string row(const char* name, const std::string& value, const std::string& note = "") {
  char text[512];
  std::snprintf(text, sizeof text, "  %-10s %14s  %s", name, value.c_str(), note.c_str());
  std::string line = text;
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string ms_or_dash(const std::optional<double>& ms) {
  if (!ms) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.3f ms", *ms);
  return text;
}

std::string as_mb(const std::optional<double>& bytes) {
  if (!bytes) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.2f MB", *bytes / (1024.0 * 1024.0));
  return text;
}

std::string joined_list(const json::object* object, std::string_view name) {
  const json::value* value = object != nullptr ? object->if_contains(name) : nullptr;
  std::string text;
  if (value == nullptr || !value->is_array()) return text;
  for (const json::value& word : value->get_array()) {
    if (word.is_string()) text += (text.empty() ? "" : " ") + std::string(word.get_string());
  }
  return printable(text);
}

std::string profile_of(const json::object& answer) {
  const json::object* metrics = object_in(answer, "metrics");
  const json::object* phases = object_in(answer, "phases");
  const json::object* isolation = object_in(answer, "isolation");
  const auto import_ms = number_in(phases, "import_ms");
  const auto handler_ms = number_in(phases, "handler_ms");
  const auto queue = number_in(metrics, "queue_ms");
  const auto setup = number_in(metrics, "setup_ms");
  const auto wall = number_in(metrics, "wall_ms");
  // The interpreter's own part of the time; the guest's own figures are not trusted beyond that.
  std::optional<double> runtime;
  if (wall) runtime = std::max(*wall - import_ms.value_or(0) - handler_ms.value_or(0), 0.0);
  std::optional<double> total;
  if (wall) total = *wall + setup.value_or(0);
  std::string text = "profile:\n";
  if (queue.value_or(0) > 0) text += row("queue", ms_or_dash(queue), "(in start)");
  text +=
      row("start", ms_or_dash(setup), is_true(answer, "warm") ? "warm sandbox" : "cold sandbox");
  text += row("runtime", ms_or_dash(runtime), "the interpreter's own");
  text += row("import", ms_or_dash(import_ms), "the handler's module");
  text += row("handler", ms_or_dash(handler_ms));
  text += row("total", ms_or_dash(total), "wall clock");
  text += row("cpu", ms_or_dash(number_in(metrics, "cpu_ms")), "all its processes");
  text += row("memory", as_mb(number_in(metrics, "peak_memory_bytes")), "peak");
  if (isolation != nullptr) {
    text += "  walls      " + printable(text_in(*isolation, "engine")) + ", grade " +
            printable(text_in(*isolation, "grade")) + ": " + joined_list(isolation, "walls") + "\n";
    const std::string missing = joined_list(isolation, "missing");
    if (!missing.empty()) text += "  missing    " + missing + "\n";
  }
  return text;
}

}  // namespace

Result<FunctionView> view_function(std::string_view answer) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(answer, failed, {}, {.max_depth = kMaxDepth});
  const json::object* object = failed ? nullptr : parsed.if_object();
  const auto result = object != nullptr ? raw_member(answer, "result") : std::nullopt;
  const auto error = object != nullptr ? raw_member(answer, "error") : std::nullopt;
  if (!result || !error) {
    return fail(Errc::kProtocol, "the response is not one of a function");
  }
  const json::object* what = object_in(*object, "error");
  FunctionView view;
  view.status = status_of(*object, what);
  view.out = std::string(what != nullptr ? *error : *result) + "\n";
  view.remarks = remarks_of(*object, what);
  view.profile = profile_of(*object);
  return view;
}

}  // namespace glovebox::wire
