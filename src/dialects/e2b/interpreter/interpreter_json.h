// The requests and responses of E2B's code interpreter: languages by name, executions, contexts.
#pragma once

#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "sessions/contexts/context_table.h"

namespace glovebox::e2b {

// In small or capital letters.
std::optional<sessions::Language> read_language(std::string_view name);
std::string language_refusal(std::string_view name);

// The language of the default context with this id, which exists even before its first use.
// Nothing: not the id of a default context.
std::optional<sessions::Language> default_language(std::string_view id);

struct ExecuteRequest {
  std::string code;
  std::optional<std::string> context;
  std::optional<std::string> language;
  std::vector<std::string> env;
};
// Unknown fields are ignored.
Result<ExecuteRequest> read_execute(std::string_view body);

struct CreateContextRequest {
  std::string language = "python";
  std::string cwd = "/home/user";
};
Result<CreateContextRequest> read_context(std::string_view body);

boost::json::object context_json(std::string_view id, sessions::Language language,
                                 std::string_view cwd);
// In the order of creation; the default contexts of Python and JavaScript are always listed.
boost::json::array contexts_json(const sessions::ContextTable& table);

// The interpreter's errors are plain text.
http::Response plain_refusal(int status, std::string message);
http::Response plain_refusal(const Error& error);
http::Response no_such_context(std::string_view id);

}  // namespace glovebox::e2b
