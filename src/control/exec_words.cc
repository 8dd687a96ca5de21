#include "control/exec_words.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <csignal>
#include <cstring>

#include "control/clock.h"
#include "control/process_label.h"
#include "wire/base64_decode.h"
#include "wire/guest_frames.h"
#include "wire/utf8.h"

namespace glovebox::control {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxExecText = 64u << 20;  // the server's own bound on a body is below
constexpr std::size_t kMaxVariables = 1024;

bool is_variable_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_signal(int number) { return number >= 1 && number <= 64; }

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

json::object stream_json(const wire::StreamState& state) {
  return {{"begin", state.begin}, {"end", state.end}};
}

}  // namespace

std::optional<int> parse_signal(std::string_view word) {
  std::string name(word);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (name.starts_with("SIG")) name.erase(0, 3);
  if (const auto number = whole_number(name)) {
    return is_signal(*number) ? number : std::nullopt;
  }
  for (int signal = 1; signal < 32; ++signal) {
    const char* known = ::sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  if (name == "CLD") return SIGCHLD;
  if (name == "IOT") return SIGABRT;
  // As the kernel and `kill -l` number them: libc keeps the first two for itself.
  if (name == "RTMIN") return 34;
  if (name == "RTMAX") return 64;
  if (name.starts_with("RTMIN+")) {
    const auto more = whole_number(std::string_view(name).substr(6));
    if (more && *more >= 0 && *more <= 30) return 34 + *more;
  }
  return std::nullopt;
}

Result<int> read_signal(wire::ObjectReader& fields, std::string_view name) {
  const json::value* value = fields.take(name);
  if (value == nullptr) return fields.bad(name, "is missing");
  std::optional<int> signal;
  if (const json::string* word = value->if_string()) {
    signal = parse_signal({word->data(), word->size()});
  } else if (value->is_int64() &&
             is_signal(static_cast<int>(std::clamp<std::int64_t>(value->get_int64(), 0, 1000)))) {
    signal = static_cast<int>(value->get_int64());
  }
  if (!signal) return fields.bad(name, "is no signal: a name like \"TERM\", or 1 to 64");
  return *signal;
}

std::string signal_name(int signal) {
  const char* name = signal < 32 ? ::sigabbrev_np(signal) : nullptr;
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

Result<std::vector<std::string>> read_environment(wire::ObjectReader& fields,
                                                  std::string_view name) {
  std::vector<std::string> out;
  const json::value* value = fields.take(name);
  if (value == nullptr) return out;
  const json::object* variables = value->if_object();
  if (variables == nullptr) return fields.bad(name, "must be an object of strings");
  if (variables->size() > kMaxVariables) return fields.bad(name, "must have at most 1024 entries");
  std::size_t bytes = 0;
  for (const auto& variable : *variables) {
    const std::string key(variable.key().data(), variable.key().size());
    const std::string at = std::string(name) + "." + key.substr(0, 60);
    if (!is_variable_name(key)) {
      return fields.bad(at, "a name has letters, digits and underscores");
    }
    const json::string* text = variable.value().if_string();
    if (text == nullptr) return fields.bad(at, "must be a string");
    out.push_back(key + "=" + std::string(text->data(), text->size()));
    TRY_OK(wire::check_no_nul(out.back(), fields.path_of(at)));
    bytes += out.back().size() + 1;
  }
  if (bytes > wire::kMaxExecBytes / 2) return fields.bad(name, "is larger than 64 KB");
  return out;
}

std::vector<std::string> joined_environment(std::vector<std::string> base,
                                            const std::vector<std::string>& more) {
  for (const std::string& variable : more) {
    const auto same = std::find_if(base.begin(), base.end(), [&variable](const std::string& had) {
      return name_of(had) == name_of(variable);
    });
    if (same != base.end()) {
      *same = variable;
    } else {
      base.push_back(variable);
    }
  }
  return base;
}

Result<std::string> read_user(wire::ObjectReader& fields, std::string_view name) {
  TRY(auto user, fields.text(name, wire::kMaxUserName));
  if (!user) return std::string("user");
  const bool good = !user->empty() && std::all_of(user->begin(), user->end(), [](char c) {
    return c > ' ' && c != ':' && c != '/' && c != '\x7f';
  });
  if (!good) return fields.bad(name, "must be the name or the number of a user");
  return std::move(*user);
}

Result<std::optional<std::string>> read_directory(wire::ObjectReader& fields,
                                                  std::string_view name) {
  TRY(auto path, fields.text(name, wire::kMaxSessionPath));
  if (!path) return path;
  TRY_OK(wire::check_no_nul(*path, fields.path_of(name)));
  if (path->empty() || path->front() != '/') return fields.bad(name, "must be an absolute path");
  return path;
}

Result<std::optional<std::string>> read_bytes(wire::ObjectReader& fields, std::string_view stem) {
  // The reader keeps the names it was asked for.
  const std::string_view encoded_name = stem == "data" ? "data_base64" : "stdin_base64";
  TRY(auto text, fields.text(stem, kMaxExecText));
  TRY(const auto encoded, fields.text(encoded_name, kMaxExecText));
  if (text && encoded) {
    return fields.bad(encoded_name, "goes not together with " + std::string(stem));
  }
  if (!encoded) return text;
  auto bytes = wire::base64_decode(*encoded);
  if (!bytes) return fields.bad(encoded_name, bytes.error().message());
  return std::optional(std::move(*bytes));
}

std::string home_of(std::string_view user) {
  return user == "root" || user == "0" ? "/root" : "/home/user";
}

std::vector<std::string> environment_for(std::string_view user, std::vector<std::string> base,
                                         const std::vector<std::string>& more) {
  if (user == "root" || user == "0") {
    const std::vector<std::string> root = {"HOME=/root", "USER=root", "LOGNAME=root"};
    base = joined_environment(std::move(base), root);
    const std::string users = "PATH=" + std::string(kUsersPrograms) + ":";
    for (std::string& word : base) {
      if (word.starts_with(users)) word.erase(5, users.size() - 5);
    }
  }
  return joined_environment(std::move(base), more);
}

void add_output(json::object& object, const std::string& name, const std::string& bytes) {
  const bool text = wire::is_utf8(bytes);
  object[name] = text ? bytes : wire::to_utf8(bytes);
  if (!text) object[name + "_base64"] = wire::base64(bytes);
}

void add_data(json::object& object, std::string_view bytes) {
  if (wire::is_utf8(bytes)) {
    object["data"] = bytes;
  } else {
    object["data_base64"] = wire::base64(bytes);
  }
}

int exit_code_of(const wire::ProcessEnd& end) {
  return end.signal != 0 ? 128 + end.signal : end.code;
}

json::object process_json(const node::ProcessInfo& process) {
  const ProcessLabel label = decode_label(process.label);
  const bool is_context = process.kind != wire::ProcessKind::kProgram;
  json::object object{{"process", process.number},
                      {"pid", process.pid},
                      {"kind", is_context ? "context" : "program"},
                      {"cmd", shown_command(label)},
                      {"user", label.user},
                      {"cwd", label.cwd},
                      {"terminal", process.terminal},
                      {"state", process.ended ? "exited" : "running"},
                      {"exit_code", nullptr},
                      {"signal", nullptr},
                      {"oom_killed", false},
                      {"started_at", utc_text(static_cast<std::int64_t>(process.started_ms))},
                      {"attached", process.attached},
                      {"stdout", stream_json(process.out)},
                      {"stderr", stream_json(process.err)}};
  if (is_context) object["context"] = label.context;
  if (process.ended) {
    object["exit_code"] = exit_code_of(*process.ended);
    if (process.ended->signal != 0) object["signal"] = process.ended->signal;
    object["oom_killed"] = process.ended->oom_killed;
  }
  return object;
}

Result<std::uint64_t> query_number(const http::Request& request, std::string_view name,
                                   std::uint64_t low, std::uint64_t high, std::uint64_t otherwise) {
  const std::string* text = request.query.find(name);
  if (text == nullptr) return otherwise;
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (text->empty() || ec != std::errc{} || end != text->data() + text->size() || number < low ||
      number > high) {
    return fail(Errc::kInvalidArgument, std::string(name) + ": must be a whole number from " +
                                            std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

}  // namespace glovebox::control
