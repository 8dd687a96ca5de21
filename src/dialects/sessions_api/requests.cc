#include "dialects/sessions_api/requests.h"

#include <boost/json.hpp>
#include <charconv>
#include <cmath>

#include "base/units.h"
#include "model/template_rules.h"
#include "wire/guest/cell.h"
#include "wire/json/object_reader.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"

namespace glovebox::sessions_api {
namespace {

namespace json = boost::json;
using wire::ObjectReader;

constexpr std::uint64_t kMostTtl = 365ull * 24 * 3600;
constexpr std::uint64_t kMaxTimeout = 3600;
constexpr std::size_t kMaxCode = wire::kMaxCellBytes / 4;
constexpr std::size_t kMaxEvent = wire::kMaxCellBytes / 4;
constexpr std::uint64_t kMb = 1u << 20;

// Runs in the context's own namespace, so that a persistent session keeps what it defines. Its
// lines appear in tracebacks, so it is short. `__glovebox_handle` removes itself.
constexpr std::string_view kDriver = R"py(def __glovebox_handle(names, code, event, about):
    import inspect, json, linecache, time, types
    end = time.monotonic() + about["timeout_s"]
    names.pop("handler", None)
    names.pop("__glovebox_handle", None)
    linecache.cache["handler.py"] = (len(code), None, code.splitlines(True), "handler.py")
    exec(compile(code, "handler.py", "exec", 0, True), names)
    handler = names.get("handler")
    if not callable(handler):
        raise NameError("the code must define handler(event, context)")
    context = types.SimpleNamespace(**about, aws_request_id=about["execution_id"], function_name="handler",
                                    memory_limit_in_mb=about["memory_mb"])
    context.get_remaining_time_in_millis = lambda: max(0, int((end - time.monotonic()) * 1000))
    try:
        both = inspect.signature(handler).bind(event, context) is not None
    except (TypeError, ValueError):
        both = False
    value = handler(event, context) if both else handler(event)
    if inspect.iscoroutine(value):
        import asyncio
        value = asyncio.run(value)
    def whole(digits):
        if not -(1 << 63) <= int(digits) < 1 << 64:
            raise ValueError("an integer beyond 64 bits")
    try:
        text = json.dumps(value, allow_nan=False)
        json.loads(text, parse_int=whole)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError("the handler's return value is not JSON: %s" % error) from None
    if len(text) > about["most"]:
        raise ValueError("the handler's return value is longer than %d bytes" % about["most"])
    return text
)py";

// A JSON string literal is a Python one, too: it is raw UTF-8, and its escapes are the same.
std::string python_literal(std::string_view text) { return json::serialize(json::string(text)); }

// "512Mi", "1G", "64MB".
Result<std::optional<std::uint64_t>> read_size(ObjectReader& fields, std::string_view name) {
  TRY(const auto text, fields.text(name, 32));
  if (!text) return std::nullopt;
  const auto bytes = parse_size(text->ends_with('i') ? *text + "B" : *text);
  if (!bytes || *bytes < kMb || *bytes > (kMb << 20)) {
    return fields.bad(name, "must be a size of at least 1M, such as 512Mi or 1G");
  }
  return *bytes;
}

Result<std::optional<double>> read_cpus(ObjectReader& fields) {
  const json::value* value = fields.take("cpu");
  if (value == nullptr || !value->is_string()) return fields.number("cpu", 0.01, 1024);
  const std::string_view text = value->get_string();
  double cpus = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), cpus);
  if (ec != std::errc{} || end != text.data() + text.size() || !(cpus >= 0.01 && cpus <= 1024)) {
    return fields.bad("cpu", "must be a number of CPUs from 0.01 to 1024");
  }
  return cpus;
}

Result<> read_resources(const json::value& value, ProfileRequest& profile) {
  TRY(ObjectReader fields, ObjectReader::open(value, "resources"));
  TRY(const auto cpus, read_cpus(fields));
  if (cpus) profile.cpu_thousandths = static_cast<std::uint32_t>(std::lround(*cpus * 1000));
  TRY(profile.memory_bytes, read_size(fields, "memory"));
  TRY(profile.disk_bytes, read_size(fields, "disk"));
  TRY(const auto memory_mb, fields.whole("memory_mb", 8, 1u << 20));
  if (memory_mb) profile.memory_bytes = *memory_mb * kMb;
  TRY(const auto disk_mb, fields.whole("disk_mb", 1, 1u << 20));
  if (disk_mb) profile.disk_bytes = *disk_mb * kMb;
  TRY(const auto pids, fields.whole("pids", 1, 65'536));
  if (pids) profile.pids = static_cast<std::uint32_t>(*pids);
  if (profile.memory_bytes && *profile.memory_bytes < 8 * kMb) {
    return fields.bad("memory", "must be at least 8M");
  }
  return fields.finish();
}

Result<> read_template(ObjectReader& fields, sessions::CreateRequest& request) {
  for (const std::string_view name : {"template", "template_id"}) {
    TRY(const auto text, fields.text(name, 64));
    if (!text) continue;
    if (!is_template_name(*text)) {
      return fields.bad(name, "must be a template name: lower-case letters, digits and dashes");
    }
    if (!request.template_name.empty() && request.template_name != *text) {
      return fields.bad(name, "contradicts template");
    }
    request.template_name = *text;
  }
  return {};
}

// "__timeout" of the event, in seconds.
Result<std::optional<std::chrono::seconds>> timeout_in(const json::value& event) {
  const json::object* object = event.if_object();
  const json::value* value = object == nullptr ? nullptr : object->if_contains("__timeout");
  if (value == nullptr) return std::nullopt;
  const auto bad = [] {
    return fail(Errc::kInvalidArgument,
                "event.__timeout: must be a whole number of seconds from 1 to " +
                    std::to_string(kMaxTimeout));
  };
  const bool is_whole =
      value->is_int64() || value->is_uint64() ||
      (value->is_double() && std::trunc(value->get_double()) == value->get_double());
  if (!is_whole) return bad();
  const double seconds = value->to_number<double>();
  if (!(seconds >= 1 && seconds <= static_cast<double>(kMaxTimeout))) return bad();
  return std::chrono::seconds(static_cast<std::int64_t>(seconds));
}

}  // namespace

std::string_view mode_name(Mode mode) {
  return mode == Mode::kEphemeral ? "ephemeral" : "persistent";
}

Mode mode_of(const store::SessionRecord& record) {
  const auto stored = record.metadata.find(std::string(kModeKey));
  const bool is_ephemeral =
      stored != record.metadata.end() && stored->second == mode_name(Mode::kEphemeral);
  return is_ephemeral ? Mode::kEphemeral : Mode::kPersistent;
}

std::string agent_of(const store::SessionRecord& record) {
  if (!record.agent_id.empty()) return record.agent_id;
  const auto stored = record.metadata.find(std::string(kAgentKey));
  return stored == record.metadata.end() ? std::string() : stored->second;
}

Result<sessions::CreateRequest> parse_session(std::string_view body) {
  sessions::CreateRequest request;
  Mode mode = Mode::kEphemeral;
  TRY(const json::value document, wire::parse_strict_json(body.empty() ? "{}" : body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  TRY(const auto asked_mode, fields.text("mode", 32));
  if (asked_mode && *asked_mode != "ephemeral" && *asked_mode != "persistent") {
    return fields.bad("mode", "must be ephemeral or persistent");
  }
  if (asked_mode == "persistent") mode = Mode::kPersistent;
  TRY_OK(read_template(fields, request));
  TRY(const auto agent, sessions::read_agent_id(fields));
  if (const json::value* resources = fields.take("resources")) {
    TRY_OK(read_resources(*resources, request.profile));
  }
  TRY(request.ttl_s, fields.whole("timeout", 1, kMostTtl));
  TRY(request.env, wire::read_environment(fields, "env_vars"));
  TRY_OK(fields.finish());
  request.metadata[std::string(kModeKey)] = mode_name(mode);
  if (agent && mode == Mode::kPersistent) request.agent_id = *agent;
  if (agent && mode == Mode::kEphemeral) request.metadata[std::string(kAgentKey)] = *agent;
  return request;
}

Result<ExecuteRequest> parse_execute(std::string_view body) {
  ExecuteRequest request;
  TRY(const json::value document, wire::parse_strict_json(body, {.depth = 32}));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  TRY(auto code, fields.text("code", kMaxCode));
  if (!code || code->empty()) return fields.bad("code", "is missing");
  TRY_OK(wire::check_no_nul(*code, "code"));
  request.code = std::move(*code);
  TRY(const auto language, fields.text("language", 32));
  if (language && *language != "python") {
    return fields.bad("language", "must be python, the only language of handlers");
  }
  TRY(const auto timeout, fields.whole("timeout", 1, kMaxTimeout));
  if (timeout) request.timeout = std::chrono::seconds(*timeout);
  const json::value* event = fields.take("event");
  TRY_OK(fields.finish());
  request.event = "{}";
  if (event != nullptr) {
    TRY(const auto asked, timeout_in(*event));
    if (asked) request.timeout = *asked;
    request.event = json::serialize(*event);
    if (request.event.size() > kMaxEvent) return fields.bad("event", "is larger than 4 MB");
  }
  return request;
}

std::string handler_cell(const ExecuteRequest& request, const HandlerContext& about) {
  const json::object fields{{"execution_id", about.execution_id},
                            {"session_id", about.session_id},
                            {"memory_mb", about.memory_mb},
                            {"timeout_s", about.timeout.count()},
                            {"most", kMaxResult}};
  std::string cell(kDriver);
  cell += "__glovebox_handle(globals(), " + python_literal(request.code) +
          ", __import__('json').loads(" + python_literal(request.event) + "), " +
          json::serialize(fields) + ")\n";
  return cell;
}

}  // namespace glovebox::sessions_api
