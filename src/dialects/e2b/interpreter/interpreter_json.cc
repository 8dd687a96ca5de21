#include "dialects/e2b/interpreter/interpreter_json.h"

#include <algorithm>
#include <tuple>

#include "base/utf8.h"
#include "http/status.h"
#include "wire/guest/cell.h"
#include "wire/json/object_reader.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

constexpr sessions::Language kDefaultContexts[] = {sessions::Language::kPython,
                                                   sessions::Language::kJavascript};

}  // namespace

std::optional<sessions::Language> read_language(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return sessions::parse_language(lower);
}

std::string language_refusal(std::string_view name) {
  return "the language must be " + sessions::language_list() + ", not " + printable(name);
}

std::optional<sessions::Language> default_language(std::string_view id) {
  const auto language = sessions::parse_language(id);
  if (language && id == sessions::language_name(*language)) return language;
  return std::nullopt;
}

Result<ExecuteRequest> read_execute(std::string_view body) {
  ExecuteRequest wanted;
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  TRY(auto code, fields.text("code", wire::kMaxCellBytes / 2 - 8192));
  if (!code) return fields.bad("code", "is missing");
  TRY_OK(wire::check_no_nul(*code, "code"));
  wanted.code = std::move(*code);
  TRY(wanted.context, fields.text("context_id", 64));
  TRY(wanted.language, fields.text("language", 32));
  TRY(wanted.env, wire::read_environment(fields, "env_vars"));
  if (wanted.context && wanted.language) {
    return fail(Errc::kInvalidArgument, "only one of context_id and language may be given");
  }
  return wanted;
}

Result<CreateContextRequest> read_context(std::string_view body) {
  CreateContextRequest wanted;
  TRY(const json::value document, wire::parse_strict_json(body.empty() ? "{}" : body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  TRY(auto language, fields.text("language", 32));
  if (language) wanted.language = std::move(*language);
  TRY(auto cwd, fields.text("cwd", 4096));
  if (cwd && !cwd->empty()) {
    TRY_OK(wire::check_no_nul(*cwd, "cwd"));
    wanted.cwd = cwd->starts_with('/') ? *cwd : wanted.cwd + "/" + *cwd;
  }
  return wanted;
}

json::object context_json(std::string_view id, sessions::Language language, std::string_view cwd) {
  return {{"id", id}, {"language", sessions::language_name(language)}, {"cwd", to_utf8(cwd)}};
}

json::array contexts_json(const sessions::ContextTable& table) {
  json::array all;
  for (const sessions::Language language : kDefaultContexts) {
    const std::string_view id = sessions::language_name(language);
    const auto made = table.find(id);
    const sessions::ContextSpec spec = made ? made->spec : sessions::ContextSpec{};
    all.push_back(context_json(id, language, spec.cwd));
  }
  auto contexts = table.list();
  std::sort(contexts.begin(), contexts.end(), [](const auto& a, const auto& b) {
    return std::tie(a->created_ms, a->order, a->id) < std::tie(b->created_ms, b->order, b->id);
  });
  for (const auto& context : contexts) {
    const auto default_of_id = default_language(context->id);
    const bool is_listed =
        default_of_id && std::find(std::begin(kDefaultContexts), std::end(kDefaultContexts),
                                   *default_of_id) != std::end(kDefaultContexts);
    if (is_listed) continue;
    all.push_back(context_json(context->id, context->spec.language, context->spec.cwd));
  }
  return all;
}

http::Response plain_refusal(int status, std::string message) {
  return http::Response::text(to_utf8(message), status);
}

http::Response plain_refusal(const Error& error) {
  return plain_refusal(http::status_of(error.code()).status, error.message());
}

http::Response no_such_context(std::string_view id) {
  return plain_refusal(404, "Context " + printable(id) + " not found");
}

}  // namespace glovebox::e2b
