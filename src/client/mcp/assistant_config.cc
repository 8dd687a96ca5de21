#include "client/mcp/assistant_config.h"

#include <boost/json.hpp>

#include "base/shell_quote.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr const char* kKey = "YOUR_KEY";
constexpr std::string_view kNames[] = {"claude-desktop", "claude-code", "cursor", "vscode",
                                       "generic"};

json::object stdio_of(const AssistantConnection& connection, bool with_type) {
  json::object object;
  if (with_type) object["type"] = "stdio";
  object["command"] = connection.program;
  object["args"] = json::value_from(connection.args);
  if (connection.needs_key) object["env"] = {{"GLOVEBOX_API_KEY", kKey}};
  return object;
}

json::object http_of(const AssistantConnection& connection, bool with_type) {
  json::object object;
  if (with_type) object["type"] = "http";
  object["url"] = connection.url;
  object["headers"] = {{"X-API-Key", kKey}};
  return object;
}

struct ConfigBlock {
  std::string title;
  std::string where;
  json::object stdio;  // the whole file
  json::object http;   // empty: it supports stdio only
};

ConfigBlock block_of(const AssistantConnection& connection, std::string_view name) {
  const auto named = [](const char* list, json::object server) {
    return json::object{{list, {{"glovebox", std::move(server)}}}};
  };
  if (name == "claude-desktop") {
    return {"Claude Desktop",
            "claude_desktop_config.json (Settings, Developer, Edit Config)",
            named("mcpServers", stdio_of(connection, false)),
            {}};
  }
  if (name == "claude-code") {
    return {"Claude Code", ".mcp.json in your project",
            named("mcpServers", stdio_of(connection, true)),
            named("mcpServers", http_of(connection, true))};
  }
  if (name == "cursor") {
    return {"Cursor", "~/.cursor/mcp.json, or .cursor/mcp.json in your project",
            named("mcpServers", stdio_of(connection, false)),
            named("mcpServers", http_of(connection, false))};
  }
  if (name == "vscode") {
    return {"VS Code", ".vscode/mcp.json in your project",
            named("servers", stdio_of(connection, true)),
            named("servers", http_of(connection, true))};
  }
  return {"Others", "the assistant's list of MCP servers",
          named("mcpServers", stdio_of(connection, false)),
          named("mcpServers", http_of(connection, true))};
}

// Indented by two spaces.
void write_pretty(const json::value& value, std::string& out, std::size_t depth) {
  const std::string indent((depth + 1) * 2, ' ');
  if (const json::object* object = value.if_object(); object != nullptr && !object->empty()) {
    out += "{\n";
    bool first = true;
    for (const auto& one : *object) {
      if (!first) out += ",\n";
      first = false;
      out += indent + json::serialize(json::string(one.key())) + ": ";
      write_pretty(one.value(), out, depth + 1);
    }
    out += "\n" + std::string(depth * 2, ' ') + "}";
    return;
  }
  out += json::serialize(value);
}

std::string pretty(const json::object& object) {
  std::string out;
  write_pretty(object, out, 0);
  return out + "\n";
}

std::string shell_lines(const AssistantConnection& connection) {
  std::string line = "claude mcp add glovebox";
  if (connection.needs_key) line += std::string(" --env GLOVEBOX_API_KEY=") + kKey;
  line += " -- " + shell_quoted(connection.program);
  for (const std::string& word : connection.args) line += " " + shell_quoted(word);
  return "or run:\n\n" + line + "\nclaude mcp add --transport http glovebox " +
         shell_quoted(connection.url) + " --header 'X-API-Key: " + kKey + "'\n\n";
}

}  // namespace

Result<std::string> assistant_config_text(const AssistantConnection& connection,
                                          std::string_view name) {
  std::string names;
  std::string text;
  for (const std::string_view one : kNames) {
    (names += names.empty() ? "" : ", ") += one;
    if (!name.empty() && name != one) continue;
    const ConfigBlock block = block_of(connection, one);
    text += "# " + block.title + ": " + block.where + "\n\n" + pretty(block.stdio) + "\n";
    if (!block.http.empty()) text += "or, for a running server:\n\n" + pretty(block.http) + "\n";
    if (one == "claude-code") text += shell_lines(connection);
  }
  if (text.empty()) {
    return fail(Errc::kInvalidArgument,
                "'" + std::string(name) + "' is not a known assistant; use one of: " + names);
  }
  text += std::string("# ") + kKey +
          ": create one with `glovebox key create --project assistants`; no admin key is needed.\n";
  return text;
}

std::string assistant_config_json(const AssistantConnection& connection) {
  json::object all;
  for (const std::string_view one : kNames) {
    ConfigBlock block = block_of(connection, one);
    json::object object{{"stdio", std::move(block.stdio)}};
    if (!block.http.empty()) object["http"] = std::move(block.http);
    all[one] = std::move(object);
  }
  return json::serialize(all) + "\n";
}

}  // namespace glovebox::client
