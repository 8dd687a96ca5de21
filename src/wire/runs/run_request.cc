#include "wire/runs/run_request.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/base64.h"
#include "model/template_rules.h"
#include "wire/guest/guest_frames.h"
#include "wire/json/object_reader.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"
#include "wire/launcher/launcher_messages.h"
#include "wire/runs/profile_request.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxRequestText = 64u << 20;  // the server's own bound on a body is below

struct LanguageName {
  std::string_view word;
  std::string_view language;
};
constexpr LanguageName kLanguages[] = {
    {"python", "python"},         {"python3", "python"}, {"py", "python"},
    {"javascript", "javascript"}, {"js", "javascript"},  {"node", "javascript"},
    {"shell", "shell"},           {"sh", "shell"},       {"bash", "shell"},
};

}  // namespace

Result<> read_language_and_template(ObjectReader& fields, RunRequest& request) {
  TRY(const auto language, fields.text("language", 32));
  if (language) {
    for (const LanguageName& known : kLanguages) {
      if (known.word == *language) request.language = known.language;
    }
    if (request.language.empty()) {
      return fields.bad("language", "must be python, javascript or shell");
    }
  }
  TRY(const auto name, fields.text("template", 64));
  if (name) {
    if (!is_template_name(*name)) {
      return fields.bad("template", "must be a name of lower-case letters, digits and dashes");
    }
    request.template_name = *name;
  }
  return {};
}

namespace {

Result<> read_run_code(ObjectReader& fields, RunRequest& request) {
  TRY(request.code, fields.text("code", kMaxJobBytes));
  if (request.code) TRY_OK(check_no_nul(*request.code, "code"));
  return {};
}

// A list is a program and its arguments; one string is for the shell.
Result<> read_command(ObjectReader& fields, RunRequest& request) {
  const json::value* value = fields.take("command");
  if (value == nullptr) return {};
  if (const json::string* line = value->if_string()) {
    request.command = {"/bin/sh", "-c", std::string(line->data(), line->size())};
    TRY_OK(check_no_nul(request.command.back(), "command"));
    if (line->empty()) return fields.bad("command", "must not be empty");
  } else if (value->is_array()) {
    TRY(request.command, fields.texts("command", kMaxExecStrings, kMaxExecBytes));
    if (request.command.empty() || request.command[0].empty()) {
      return fields.bad("command", "must begin with a program");
    }
  } else {
    return fields.bad("command", "must be a list of strings, or one string for the shell");
  }
  return {};
}

Result<> check_what(const ObjectReader& fields, const RunRequest& request) {
  if (request.code && !request.command.empty()) {
    return fields.bad("command", "cannot be combined with code");
  }
  const bool is_image = !request.profile.image.empty();
  if (is_image && !request.template_name.empty()) {
    return fields.bad("template", "cannot be combined with an image");
  }
  // An image has a program of its own, and so has a template that is made of one.
  if (!request.code && request.command.empty() && !is_image && request.template_name.empty()) {
    return fields.bad("code", "is missing (or give command)");
  }
  if (request.code && request.language.empty() && request.template_name.empty()) {
    return fields.bad("language", "is missing (or give template)");
  }
  if (!request.args.empty() && !request.code) {
    return fields.bad("args", "goes with code; command has its own arguments");
  }
  return {};
}

Result<std::uint32_t> parse_mode(const ObjectReader& file, std::string_view text) {
  std::uint32_t mode = 0;
  bool good = !text.empty() && text.size() <= 4;
  for (const char c : text) {
    good = good && c >= '0' && c <= '7';
    mode = mode * 8 + static_cast<std::uint32_t>(c - '0');
  }
  if (!good || mode > 0777) return file.bad("mode", "must be like \"644\" or \"0755\"");
  return mode;
}

Result<RequestFile> read_file(const json::value& value, const std::string& at) {
  TRY(ObjectReader file, ObjectReader::open(value, at));
  TRY(const auto path, file.text("path", GuestPath::kMaxBytes));
  if (!path) return file.bad("path", "is missing");
  auto guest = GuestPath::parse(*path);
  if (!guest) return file.bad("path", guest.error().message());
  if (guest->str() == "/" || path->back() == '/') return file.bad("path", "must name a file");
  RequestFile out{.path = std::move(*guest), .content = {}, .mode = 0644};
  TRY(auto content, file.text("content", kMaxRequestText));
  TRY(const auto encoded, file.text("content_base64", kMaxRequestText));
  if (content && encoded) return file.bad("content_base64", "cannot be combined with content");
  if (!content && !encoded) return file.bad("content", "is missing (or give content_base64)");
  if (content) out.content = std::move(*content);
  if (encoded) {
    auto bytes = base64_decode(*encoded);
    if (!bytes) return file.bad("content_base64", bytes.error().message());
    out.content = std::move(*bytes);
  }
  TRY(const auto mode, file.text("mode", 8));
  if (mode) {
    TRY(out.mode, parse_mode(file, *mode));
  }
  TRY_OK(file.finish());
  return out;
}

Result<> read_files(ObjectReader& fields, RunRequest& request) {
  const json::value* value = fields.take("files");
  if (value == nullptr) return {};
  const json::array* list = value->if_array();
  if (list == nullptr) return fields.bad("files", "must be a list");
  if (list->size() > kMaxRequestFiles) {
    return fields.bad("files",
                      "must have at most " + std::to_string(kMaxRequestFiles) + " entries");
  }
  for (const json::value& element : *list) {
    const std::string at = "files[" + std::to_string(request.files.size()) + "]";
    TRY(RequestFile file, read_file(element, at));
    request.files.push_back(std::move(file));
  }
  return {};
}

Result<> read_return_files(ObjectReader& fields, RunRequest& request) {
  TRY(const auto patterns, fields.texts("return_files", kMaxReturnPatterns, GuestPath::kMaxBytes));
  for (const std::string& pattern : patterns) {
    // The same rules as for a path; the stars are for our program inside.
    auto path = GuestPath::parse(pattern);
    if (!path) {
      return fields.bad("return_files[" + std::to_string(request.return_files.size()) + "]",
                        path.error().message());
    }
    request.return_files.push_back(path->str());
  }
  return {};
}

Result<> read_env(ObjectReader& fields, RunRequest& request) {
  const json::value* value = fields.take("env");
  if (value == nullptr) return {};
  const json::object* variables = value->if_object();
  if (variables == nullptr) return fields.bad("env", "must be an object of strings");
  if (variables->size() > 1024) return fields.bad("env", "must have at most 1024 entries");
  for (const auto& variable : *variables) {
    const std::string name(variable.key().data(), variable.key().size());
    const std::string at = "env." + name.substr(0, 60);
    if (!is_variable_name(name)) {
      return fields.bad(at, "a name may only have letters, digits and underscores");
    }
    const json::string* text = variable.value().if_string();
    if (text == nullptr) return fields.bad(at, "must be a string");
    request.env.push_back(name + "=" + std::string(text->data(), text->size()));
    TRY_OK(check_no_nul(request.env.back(), at));
  }
  return {};
}

}  // namespace

// What the agent takes in one frame; the template's own are added later and are few.
Result<> check_sizes(const ObjectReader& fields, const RunRequest& request) {
  std::size_t bytes = 0;
  for (const auto* list : {&request.command, &request.args, &request.env}) {
    for (const std::string& text : *list) bytes += text.size() + 1;
  }
  const std::size_t count = request.command.size() + request.args.size() + request.env.size();
  constexpr std::size_t kForTheTemplate = 8 * 1024;
  if (bytes > kMaxExecBytes - kForTheTemplate || count > kMaxExecStrings - 64) {
    return fields.bad(request.command.empty() ? "args" : "command",
                      "arguments and env together are larger than 120 KB; use files or stdin");
  }
  return {};
}

Result<> read_run_settings(ObjectReader& fields, RunRequest& request) {
  TRY_OK(read_files(fields, request));
  TRY_OK(read_return_files(fields, request));
  TRY_OK(read_env(fields, request));
  TRY(const auto workdir, fields.text("workdir", GuestPath::kMaxBytes));
  if (workdir) {
    auto path = GuestPath::parse(*workdir);
    if (!path) return fields.bad("workdir", path.error().message());
    request.workdir = path->str();
    request.has_workdir = true;
  }
  TRY(const auto cold, fields.truth("cold"));
  request.cold = cold.value_or(false);
  TRY(const auto grade, fields.text("min_grade", 32));
  if (grade) {
    const Grade* known = parse_grade(*grade);
    if (known == nullptr) {
      return fields.bad("min_grade", "must be process, jail-partial, jail, user-kernel or vm");
    }
    request.min_grade = *known;
  }
  TRY(const auto engine, fields.text("engine", 32));
  if (engine) {
    const EngineKind* known = parse_engine(*engine);
    if (known == nullptr) return fields.bad("engine", "must be jail or process");
    request.engine = *known;
  }
  if (const json::value* profile = fields.take("profile")) {
    TRY(request.profile, read_profile_request(*profile, "profile"));
  }
  return {};
}

Result<std::string> read_stdin(ObjectReader& fields) {
  TRY(auto text, fields.text("stdin", kMaxRequestText));
  TRY(const auto encoded, fields.text("stdin_base64", kMaxRequestText));
  if (text && encoded) return fields.bad("stdin_base64", "cannot be combined with stdin");
  if (text) return std::move(*text);
  if (!encoded) return std::string();
  auto bytes = base64_decode(*encoded);
  if (!bytes) return fields.bad("stdin_base64", bytes.error().message());
  return std::move(*bytes);
}

Result<> read_run_fields(ObjectReader& fields, RunRequest& request) {
  TRY_OK(read_language_and_template(fields, request));
  TRY_OK(read_run_code(fields, request));
  TRY_OK(read_command(fields, request));
  TRY(const auto bundle, fields.text("bundle", 64));
  if (bundle) request.bundle = *bundle;
  return read_run_settings(fields, request);
}

Result<> check_run(const ObjectReader& fields, const RunRequest& request) {
  TRY_OK(check_what(fields, request));
  return check_sizes(fields, request);
}

Result<RunRequest> parse_run_request(std::string_view body) {
  TRY(const json::value document, parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  RunRequest request;
  TRY_OK(read_run_fields(fields, request));
  TRY(request.stdin_bytes, read_stdin(fields));
  TRY(request.args, fields.texts("args", kMaxExecStrings, kMaxExecBytes));
  TRY_OK(fields.finish());
  TRY_OK(check_run(fields, request));
  return request;
}

}  // namespace glovebox::wire
