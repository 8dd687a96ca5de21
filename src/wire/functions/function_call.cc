#include "wire/functions/function_call.h"

#include <sys/random.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <ctime>
#include <span>

#include "base/assert.h"
#include "base/hex.h"
#include "wire/json/json_fields.h"
#include "wire/json/object_reader.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::size_t kMaxFunctionName = 256;
constexpr std::size_t kMaxContextBytes = 65'536;
constexpr std::size_t kMaxContextDepth = 128;

struct ContextName {
  std::string_view name;
  std::string_view in_node;
};
constexpr ContextName kContextNames[] = {
    {"aws_request_id", "awsRequestId"},        {"function_name", "functionName"},
    {"function_version", "functionVersion"},   {"invoked_function_arn", "invokedFunctionArn"},
    {"memory_limit_in_mb", "memoryLimitInMB"}, {"log_group_name", "logGroupName"},
    {"log_stream_name", "logStreamName"},      {"identity", "identity"},
    {"client_context", "clientContext"},
};

tl::unexpected<Error> bad_field(const std::string& at, std::string_view why) {
  return fail(Errc::kInvalidArgument, at + ": " + std::string(why));
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Parts with dots and slashes between, none of them empty or "..": safe as a path below a
// directory.
bool is_name(std::string_view name, std::string_view more) {
  if (name.empty() || name.size() > kMaxFunctionName) return false;
  char before = '/';
  for (const char c : name) {
    const bool plain = is_letter(c) || is_digit(c) || c == '_' || more.find(c) != more.npos;
    const bool between = c == '.' || c == '/';
    if (!plain && !between) return false;
    if (between && (before == '.' || before == '/')) return false;
    before = c;
  }
  return before != '.' && before != '/';
}

std::string random_hex(std::size_t bytes) {
  unsigned char raw[32];
  GBX_ASSERT(bytes <= sizeof raw);
  GBX_ASSERT(::getrandom(raw, bytes, 0) == static_cast<ssize_t>(bytes));
  return hex_encode(std::span(raw, bytes));
}

std::string random_uuid() {
  std::string hex = random_hex(16);
  hex[12] = '4';
  hex[16] = "89ab"[hex[16] & 3];
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

std::string log_stream() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char day[32];
  std::strftime(day, sizeof day, "%Y/%m/%d/[$LATEST]", &utc);
  return day + random_hex(16);
}

struct HandlerParts {
  std::string module;
  std::string function;
};

// Lambda's own rules: Python's function is behind the last dot, Node's behind the first one of the
// last part of a path.
HandlerParts parts_of(const FunctionCall& call) {
  const std::string handler = call.handler.empty() ? "handler" : call.handler;
  std::size_t dot = handler.rfind('.');
  if (call.language == FunctionLanguage::kNode) {
    const std::size_t slash = handler.rfind('/');
    dot = handler.find('.', slash == std::string::npos ? 0 : slash);
  }
  if (dot != std::string::npos) return {handler.substr(0, dot), handler.substr(dot + 1)};
  std::string module = call.file.substr(0, call.file.rfind('.'));
  return {module.empty() ? "handler" : module, handler};
}

std::string file_of(const FunctionCall& call, const std::string& module) {
  if (call.language == FunctionLanguage::kNode) {
    const std::size_t dot = call.file.rfind('.');
    return module + (dot == std::string::npos ? ".js" : call.file.substr(dot));
  }
  std::string path = module;
  std::replace(path.begin(), path.end(), '.', '/');
  return path + ".py";
}

void add_unless_given(json::object& context, std::string_view name, const std::string& value) {
  if (!context.contains(name)) context[name] = value;
}

// What a call's text is made of.
struct CallParts {
  json::object code;  // code, module, function, file, imports
  json::object context;
  FunctionCallInfo about;
};

CallParts make_parts(const FunctionCall& call, std::uint64_t memory_mb) {
  const HandlerParts handler = parts_of(call);
  std::string module = handler.module;
  const std::string file = file_of(call, module);
  // As Python names a module of a package; Node has no names for its modules.
  if (call.language == FunctionLanguage::kPython) {
    std::replace(module.begin(), module.end(), '/', '.');
  }
  // Our own text of what was checked: as deep as a request may be, which is deeper than the
  // default.
  boost::system::error_code never;
  json::value said = json::parse(call.context, never, {}, {.max_depth = kMaxContextDepth});
  json::object context = said.is_object() ? std::move(said.get_object()) : json::object();
  add_unless_given(context, "function_name", module.substr(module.find_last_of("./") + 1));
  const std::string name = text_in(context, "function_name");
  add_unless_given(context, "aws_request_id", random_uuid());
  add_unless_given(context, "function_version", "$LATEST");
  add_unless_given(context, "invoked_function_arn",
                   "arn:aws:lambda:us-east-1:000000000000:function:" + name);
  add_unless_given(context, "log_group_name", "/aws/lambda/" + name);
  add_unless_given(context, "log_stream_name", log_stream());
  if (!context.contains("memory_limit_in_mb")) context["memory_limit_in_mb"] = memory_mb;
  CallParts parts;
  parts.about = {.request_id = text_in(context, "aws_request_id"), .timeout = time_of(call)};
  parts.context = std::move(context);
  parts.code["code"] = call.code;
  parts.code["module"] = module;
  parts.code["function"] = handler.function;
  parts.code["file"] = file;
  if (!call.import_mode.empty()) {
    json::array names;
    for (const std::string& one : call.imports) names.emplace_back(one);
    parts.code["imports"] = {json::value(call.import_mode), std::move(names)};
  }
  return parts;
}

// `object` with the invocation's own fields. The event is JSON already.
std::string with_invocation(json::object object, CallParts& parts, const std::string& event) {
  object["timeout_ms"] = parts.about.timeout.count();
  object["context"] = std::move(parts.context);
  std::string text = json::serialize(object);
  text.back() = ',';
  text += "\"event\":" + event + "}";
  return text;
}

}  // namespace

milliseconds time_of(const FunctionCall& call) {
  if (!call.asked_time) return call.event_time.value_or(kDefaultFunctionTime);
  return std::min(*call.asked_time, call.event_time.value_or(kMaxFunctionTime));
}

Result<> take_event(FunctionCall& call, const json::value& event, const std::string& at) {
  const json::object* object = event.if_object();
  const json::value* time = object == nullptr ? nullptr : object->if_contains("__timeout");
  if (time == nullptr) {
    call.event = json::serialize(event);
  } else {
    boost::system::error_code not_a_number;
    const double seconds = time->to_number<double>(not_a_number);
    const double most = static_cast<double>(kMaxFunctionTime.count()) / 1000;
    // Written so that a NaN fails, too.
    if (not_a_number || !(seconds >= 0.001 && seconds <= most)) {
      return bad_field(at + ".__timeout",
                       "must be a number of seconds, more than 0 and at most 3600");
    }
    call.event_time = milliseconds(std::llround(seconds * 1000));
    json::object rest = *object;
    rest.stable_erase("__timeout");  // the other keys keep their order
    call.event = json::serialize(rest);
  }
  if (call.event.size() > kMaxEventBytes) return bad_field(at, "is larger than 6,000,000 bytes");
  return {};
}

Result<> take_context(FunctionCall& call, const json::value& context, const std::string& at) {
  const json::object* object = context.if_object();
  if (object == nullptr) return bad_field(at, "must be an object");
  json::object taken;
  for (const auto& word : *object) {
    std::string name(word.key().data(), word.key().size());
    const std::string where = at + "." + name.substr(0, 60);
    const auto known = std::find_if(
        std::begin(kContextNames), std::end(kContextNames),
        [&](const ContextName& one) { return name == one.name || name == one.in_node; });
    if (known != std::end(kContextNames)) name = known->name;
    if (!is_name(name, "") || !is_letter(name[0]) || name.find_first_of("./") != name.npos) {
      return bad_field(
          where, "must be a name of letters, digits and underscores, and begin with a letter");
    }
    if (taken.contains(name)) return bad_field(where, "is given twice");
    const json::value& value = word.value();
    if (name == "identity" || name == "client_context") {
      if (!value.is_object() && !value.is_null()) return bad_field(where, "must be an object");
    } else if (name == "memory_limit_in_mb") {
      if (!value.is_int64() && !value.is_string())
        return bad_field(where, "must be a whole number");
    } else if (known != std::end(kContextNames) && !value.is_string()) {
      return bad_field(where, "must be a string");
    } else if (name == "get_remaining_time_in_millis" || name == "getRemainingTimeInMillis") {
      return bad_field(where, "is a function of the context; set the timeout instead");
    }
    if (!value.is_null()) taken[name] = value;
  }
  call.context = json::serialize(taken);
  if (call.context.size() > kMaxContextBytes) return bad_field(at, "is larger than 64 KB");
  return {};
}

Result<> take_handler(FunctionCall& call, std::string_view handler, const std::string& at) {
  if (!is_name(handler, "$-")) {
    return bad_field(at, "must be the name of a function, or module.function");
  }
  const std::string_view function = handler.substr(handler.find_last_of("./") + 1);
  if (is_digit(function[0]) || function.find('-') != function.npos) {
    return bad_field(at, "must be the name of a function, or module.function");
  }
  call.handler = handler;
  return {};
}

Result<> take_file(FunctionCall& call, std::string_view file, const std::string& at) {
  const bool good = is_name(file, "-") && file.find('.') != file.npos;
  if (!good)
    return bad_field(at, "must be a name like app.py, of letters, digits, dashes and underscores");
  call.file = file;
  return {};
}

EncodedCall encode_call(const FunctionCall& call, std::uint64_t memory_mb) {
  CallParts parts = make_parts(call, memory_mb);
  std::string code = with_invocation(std::move(parts.code), parts, call.event);
  return {.code = std::move(code), .about = std::move(parts.about)};
}

SharedCall encode_shared_call(const FunctionCall& call, std::uint64_t memory_mb) {
  CallParts parts = make_parts(call, memory_mb);
  std::string code = json::serialize(parts.code);
  std::string input = with_invocation({}, parts, call.event);
  return {.code = std::move(code), .input = std::move(input), .about = std::move(parts.about)};
}

}  // namespace glovebox::wire
