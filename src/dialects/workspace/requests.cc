#include "dialects/workspace/requests.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/units.h"
#include "base/utf8.h"
#include "model/template_rules.h"
#include "wire/guest/cell.h"
#include "wire/guest/session_frames.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::workspace {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using wire::ObjectReader;

constexpr std::string_view kPrefix = "workspace:";
constexpr std::string_view kHome = "/home/user";
constexpr std::size_t kMaxArgs = 256;
constexpr std::size_t kMaxArg = 64 * 1024;
constexpr std::size_t kMaxNames = 64;
constexpr std::size_t kMaxName = 128;
constexpr std::uint64_t kMemoryUnit = 1024;  // KB

// In seconds, as all times of this dialect.
Result<std::optional<milliseconds>> read_timeout(ObjectReader& fields, milliseconds max_timeout) {
  const double seconds = static_cast<double>(max_timeout.count()) / 1000.0;
  TRY(const auto asked, fields.number("timeout", 0.001, seconds));
  if (!asked) return std::nullopt;
  return milliseconds(std::max<std::int64_t>(1, std::llround(*asked * 1000.0)));
}

Result<> read_size(ObjectReader& fields, sessions::CreateRequest& request) {
  TRY(const auto size, fields.text("size", 32));
  if (!size) return {};
  const auto bytes = parse_size(*size);
  constexpr std::uint64_t kMost = 1ull << 40;
  if (!bytes || *bytes < (1u << 20) || *bytes > kMost) {
    return fields.bad("size", "must be a disk size of at least 1M, such as 50M or 1G");
  }
  request.profile.disk_bytes = *bytes;
  return {};
}

bool is_variable_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && name.size() <= kMaxName && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

json::array texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& text : list) out.emplace_back(text);
  return out;
}

}  // namespace

Result<std::string> agent_of(std::string_view session_id) {
  if (session_id.empty() || session_id.size() > kMaxSessionId) {
    return fail(Errc::kInvalidArgument,
                "session_id: must have 1 to " + std::to_string(kMaxSessionId) + " bytes");
  }
  const bool is_printable = std::all_of(session_id.begin(), session_id.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (!is_printable || !is_utf8(session_id)) {
    return fail(Errc::kInvalidArgument, "session_id: must be printable text (UTF-8)");
  }
  return std::string(kPrefix).append(session_id);
}

std::optional<std::string> session_of_agent(std::string_view agent_id) {
  if (!agent_id.starts_with(kPrefix)) return std::nullopt;
  return std::string(agent_id.substr(kPrefix.size()));
}

Result<sessions::CreateRequest> parse_create(std::string_view body, const Settings& settings) {
  sessions::CreateRequest request;
  request.profile.cpu_thousandths = settings.cpu_thousandths;
  request.profile.memory_bytes = settings.memory_bytes;
  request.default_limits = kDefaultLimits;
  if (settings.allow_network) request.profile.net = settings.reach;
  request.net_is_default = true;
  if (body.empty()) return request;
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  TRY(const auto name, fields.text("template", 64));
  if (name) {
    if (!is_template_name(*name)) {
      return fields.bad("template",
                        "must be a template name: lower-case letters, digits and dashes");
    }
    request.template_name = *name;
  }
  TRY(const auto cpus, fields.number("cpu_quota", 0.01, 1024));
  if (cpus) request.profile.cpu_thousandths = static_cast<std::uint32_t>(std::lround(*cpus * 1000));
  TRY(const auto memory, fields.whole("memory_limit", 8192, 1u << 30));
  if (memory) request.profile.memory_bytes = *memory * kMemoryUnit;
  TRY_OK(read_size(fields, request));
  TRY(const auto network, fields.truth("allow_network"));
  TRY(const auto timeout, read_timeout(fields, settings.timeout));
  if (timeout) request.metadata[std::string(kTimeoutKey)] = std::to_string(timeout->count());
  TRY_OK(fields.finish());
  if (network && *network && !settings.allow_network) {
    return fail(Errc::kPolicy,
                "allow_network: this server does not allow sandboxes of /workspace/se to use the "
                "network (SANDBOX_ALLOW_NETWORK)");
  }
  if (network && !*network) request.profile.net = net::NetPolicy{};
  request.net_is_default = !network.has_value();
  return request;
}

Result<CodeRequest> parse_code(std::string_view body, milliseconds max_timeout) {
  CodeRequest request;
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  constexpr std::size_t kMost = wire::kMaxCellBytes / 2 - 8192;
  TRY(auto code, fields.text("code", kMost));
  if (!code) return fields.bad("code", "is missing");
  TRY_OK(wire::check_no_nul(*code, "code"));
  request.code = std::move(*code);
  TRY(request.stdin_text, fields.text("stdin", kMost));
  TRY(const auto filename, fields.text("filename", wire::kMaxSessionPath));  // accepted and ignored
  TRY(request.args, fields.texts("args", kMaxArgs, kMaxArg));
  for (const std::string& arg : request.args) TRY_OK(wire::check_no_nul(arg, "args"));
  TRY(const auto kind, fields.text("script_type", 32));
  if (kind && *kind != "python" && *kind != "shell") {
    return fields.bad("script_type", "must be python or shell");
  }
  request.shell = kind == "shell";
  if (!request.shell && !request.args.empty()) {
    return fields.bad(
        "args", "only apply to script_type shell; Python code runs in one lasting interpreter");
  }
  TRY(request.timeout, read_timeout(fields, max_timeout));
  const json::value* params = fields.take("output_params");
  if (params != nullptr) {
    TRY(request.output_params, fields.texts("output_params", kMaxNames, kMaxName));
    for (const std::string& name : *request.output_params) {
      if (!is_variable_name(name)) return fields.bad("output_params", "must be variable names");
    }
  }
  TRY_OK(fields.finish());
  return request;
}

Result<std::string> translate_command(std::string_view body, milliseconds max_timeout,
                                      milliseconds default_timeout) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  TRY(const auto command, fields.text("command", 1u << 20));
  if (!command || command->empty()) return fields.bad("command", "is missing");
  TRY(const auto args, fields.texts("args", kMaxArgs, kMaxArg));
  TRY(const auto stdin_text, fields.text("stdin", wire::kMaxCellBytes));
  TRY(const auto timeout, read_timeout(fields, max_timeout));
  TRY_OK(fields.finish());
  json::object exec{{"timeout_ms", timeout.value_or(default_timeout).count()}};
  if (args.empty()) {
    exec["cmd"] = *command;
  } else {  // arguments are not interpreted by a shell
    json::array argv{json::value(*command)};
    for (const std::string& arg : args) argv.emplace_back(arg);
    exec["argv"] = std::move(argv);
  }
  if (stdin_text) exec["stdin"] = *stdin_text;
  return json::serialize(exec);
}

std::string translate_script(const CodeRequest& request, milliseconds default_timeout) {
  json::array argv{"/bin/bash", "-c", json::value(request.code), "bash"};
  for (json::value& arg : texts(request.args)) argv.push_back(std::move(arg));
  json::object exec{{"timeout_ms", request.timeout.value_or(default_timeout).count()},
                    {"argv", std::move(argv)}};
  if (request.stdin_text) exec["stdin"] = *request.stdin_text;
  return json::serialize(exec);
}

Result<std::string> path_of(std::string_view name) {
  constexpr std::size_t kRoom = wire::kMaxSessionPath - kHome.size() - 1;
  if (name.starts_with("/home/user/")) name.remove_prefix(kHome.size() + 1);
  if (name.empty() || name.size() > kRoom) {
    return fail(Errc::kInvalidArgument,
                "filename: must have 1 to " + std::to_string(kRoom) + " bytes");
  }
  if (name.find('\0') != std::string_view::npos) {
    return fail(Errc::kInvalidArgument, "filename: must not contain a NUL");
  }
  if (name.front() == '/') {
    return fail(Errc::kInvalidArgument, "filename: must be below /home/user");
  }
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    if (rest.substr(0, slash) == "..") {
      return fail(Errc::kInvalidArgument, "filename: must not contain \"..\"");
    }
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  }
  return std::string(kHome).append("/").append(name);
}

}  // namespace glovebox::workspace
