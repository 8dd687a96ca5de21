#include "wire/functions/function_request.h"

#include <algorithm>
#include <boost/json.hpp>

#include "wire/guest/guest_frames.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

// Lambda's own names: "python3.12", "nodejs20.x". Which version there is is the template's affair.
std::string_view language_of_runtime(std::string_view runtime) {
  for (const std::string_view name : {"python", "nodejs", "node"}) {
    if (!runtime.starts_with(name)) continue;
    std::string_view version = runtime.substr(name.size());
    if (version.ends_with(".x")) version.remove_suffix(2);
    const bool is_version = version.find_first_not_of("0123456789.") == version.npos;
    if (is_version) return name == "python" ? "python" : "javascript";
  }
  return {};
}

Result<> read_language(ObjectReader& fields, FunctionRequest& request) {
  TRY(const auto runtime, fields.text("runtime", 32));
  TRY_OK(read_language_and_template(fields, request.run));
  std::string& language = request.run.language;
  if (runtime) {
    const std::string_view named = language_of_runtime(*runtime);
    if (named.empty()) {
      return fields.bad("runtime", "must be like python3.11 or nodejs20.x");
    }
    if (!language.empty() && language != named) {
      return fields.bad("runtime", "contradicts language");
    }
    language = named;
  }
  if (language.empty() && request.run.template_name.empty()) {
    return fields.bad("language", "is missing (or give runtime, or template)");
  }
  if (!language.empty() && language != "python" && language != "javascript") {
    return fields.bad("language", "must be python or javascript, the languages with handlers");
  }
  if (language == "javascript") request.call.language = FunctionLanguage::kNode;
  return {};
}

Result<> read_function_code(ObjectReader& fields, FunctionCall& call) {
  TRY(auto code, fields.text("code", kMaxJobBytes));
  if (!code || code->empty()) return fields.bad("code", "is missing: the source of the handler");
  TRY_OK(check_no_nul(*code, "code"));
  call.code = std::move(*code);
  TRY(const auto handler, fields.text("handler", 256));
  if (handler) TRY_OK(take_handler(call, *handler, "handler"));
  TRY(const auto file, fields.text("file_name", 256));
  if (file) TRY_OK(take_file(call, *file, "file_name"));
  return {};
}

Result<> read_call(ObjectReader& fields, const json::object& body, FunctionCall& call) {
  (void)fields.take("event");
  // Not by the reader, to which null is nothing: it is an event like others.
  if (const json::value* event = body.if_contains("event")) {
    TRY_OK(take_event(call, *event, "event"));
  }
  if (const json::value* context = fields.take("context")) {
    TRY_OK(take_context(call, *context, "context"));
  }
  TRY(const auto time,
      fields.whole("timeout_ms", 1, static_cast<std::uint64_t>(kMaxFunctionTime.count())));
  if (time) call.asked_time = milliseconds(static_cast<std::int64_t>(*time));
  return {};
}

// Of a run's profile the time is a function's as well; what is left to a default is ours.
Result<> set_time(const ObjectReader& fields, FunctionRequest& request) {
  const auto& requested_wall = request.run.profile.wall;
  if (requested_wall && *requested_wall > kMaxFunctionTime) {
    return fields.bad("profile.timeout_ms", "must be at most 3600000 for a function");
  }
  if (requested_wall) {
    request.call.asked_time =
        std::min(*requested_wall, request.call.asked_time.value_or(*requested_wall));
  }
  request.run.profile.wall = time_of(request.call);
  return {};
}

}  // namespace

Result<FunctionRequest> parse_function_request(std::string_view body) {
  // An event is deeper and longer than the fields of a run.
  TRY(const json::value document, parse_strict_json(body, {.depth = 66, .values = 250'000}));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  FunctionRequest request;
  TRY_OK(read_language(fields, request));
  TRY_OK(read_function_code(fields, request.call));
  TRY_OK(read_call(fields, document.get_object(), request.call));
  TRY_OK(read_run_settings(fields, request.run));
  TRY_OK(fields.finish());
  TRY_OK(check_sizes(fields, request.run));
  TRY_OK(set_time(fields, request));
  return request;
}

}  // namespace glovebox::wire
