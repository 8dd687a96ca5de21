// What the handlers of E2B's code interpreter share: who may come in, languages by their names, a
// context as its clients see it.
#pragma once

#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "routing/app.h"
#include "sessions/contexts/context_table.h"
#include "dialects/e2b/agent_access.h"
#include "http/message.h"

namespace glovebox::e2b {

// As enter(), and with the traffic token where the sandbox's ports are private.
asio::awaitable<Gate> enter_interpreter(routing::App& app, const http::Request& request, Token token);

enum class LanguageKind : std::uint8_t {
  kServed,
  kNotServed,  // E2B knows it, we do not run it
  kUnknown,
};
struct LanguageChoice {
  LanguageKind kind = LanguageKind::kServed;
  sessions::Language language = sessions::Language::kPython;
};
LanguageChoice read_language(std::string_view word);
std::string language_refusal(std::string_view word);

// The default context with this id, which is there from the start even if nothing runs in it yet.
std::optional<sessions::Language> default_language(std::string_view id);

struct ExecuteRequest {
  std::string code;
  std::optional<std::string> context;
  std::optional<std::string> language;
  std::vector<std::string> env;
};
// Fields that nobody knows are ignored.
Result<ExecuteRequest> read_execute(std::string_view body);

struct CreateContextRequest {
  std::string language = "python";
  std::string cwd = "/home/user";
};
Result<CreateContextRequest> read_context(std::string_view body);

boost::json::object context_json(std::string_view id, sessions::Language language, std::string_view cwd);
// In the order in which they were made; those of python and javascript are always there.
boost::json::array contexts_json(const sessions::ContextTable& table);

// Errors of this plane are plain text.
http::Response plain_refusal(int status, std::string message);
http::Response plain_refusal(const Error& error);
http::Response no_such_context(std::string_view id);

}  // namespace glovebox::e2b
