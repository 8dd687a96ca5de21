#include "client/mcp/assistant_config.h"

#include <boost/json.hpp>

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr const char* kKey = "YOUR_KEY";
constexpr std::string_view kNames[] = {"claude-desktop", "claude-code", "cursor", "vscode",
                                       "generic"};

json::object stdio_of(const ConfigFacts& facts, bool with_type) {
  json::object object;
  if (with_type) object["type"] = "stdio";
  object["command"] = facts.program;
  object["args"] = json::value_from(facts.args);
  if (facts.needs_key) object["env"] = {{"GLOVEBOX_API_KEY", kKey}};
  return object;
}

json::object http_of(const ConfigFacts& facts, bool with_type) {
  json::object object;
  if (with_type) object["type"] = "http";
  object["url"] = facts.url;
  object["headers"] = {{"X-API-Key", kKey}};
  return object;
}

struct Block {
  std::string title;
  std::string where;
  json::object stdio;  // the whole file
  json::object http;   // empty: it speaks stdio only
};

Block block_of(const ConfigFacts& facts, std::string_view name) {
  const auto named = [](const char* list, json::object server) {
    return json::object{{list, {{"glovebox", std::move(server)}}}};
  };
  if (name == "claude-desktop") {
    return {"Claude Desktop",
            "claude_desktop_config.json (Settings, Developer, Edit Config)",
            named("mcpServers", stdio_of(facts, false)),
            {}};
  }
  if (name == "claude-code") {
    return {"Claude Code", ".mcp.json in your project", named("mcpServers", stdio_of(facts, true)),
            named("mcpServers", http_of(facts, true))};
  }
  if (name == "cursor") {
    return {"Cursor", "~/.cursor/mcp.json, or .cursor/mcp.json in your project",
            named("mcpServers", stdio_of(facts, false)),
            named("mcpServers", http_of(facts, false))};
  }
  if (name == "vscode") {
    return {"VS Code", ".vscode/mcp.json in your project", named("servers", stdio_of(facts, true)),
            named("servers", http_of(facts, true))};
  }
  return {"Others", "wherever it keeps its servers", named("mcpServers", stdio_of(facts, false)),
          named("mcpServers", http_of(facts, true))};
}

// Indented, as people keep such files.
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

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:=";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_lines(const ConfigFacts& facts) {
  std::string line = "claude mcp add glovebox";
  if (facts.needs_key) line += std::string(" --env GLOVEBOX_API_KEY=") + kKey;
  line += " -- " + quoted(facts.program);
  for (const std::string& word : facts.args) line += " " + quoted(word);
  return "or type:\n\n" + line + "\nclaude mcp add --transport http glovebox " + quoted(facts.url) +
         " --header 'X-API-Key: " + kKey + "'\n\n";
}

}  // namespace

Result<std::string> config_text(const ConfigFacts& facts, std::string_view name) {
  std::string names;
  std::string text;
  for (const std::string_view one : kNames) {
    (names += names.empty() ? "" : ", ") += one;
    if (!name.empty() && name != one) continue;
    const Block block = block_of(facts, one);
    text += "# " + block.title + ": " + block.where + "\n\n" + pretty(block.stdio) + "\n";
    if (!block.http.empty()) text += "or, to a server that runs:\n\n" + pretty(block.http) + "\n";
    if (one == "claude-code") text += shell_lines(facts);
  }
  if (text.empty()) {
    return fail(Errc::kInvalidArgument,
                "'" + std::string(name) + "' is not known here; there are " + names);
  }
  text +=
      std::string("# ") + kKey +
      ": make one with `glovebox key create --project assistants`; it needs no admin's rights.\n";
  return text;
}

std::string config_json(const ConfigFacts& facts) {
  json::object all;
  for (const std::string_view one : kNames) {
    Block block = block_of(facts, one);
    json::object object{{"stdio", std::move(block.stdio)}};
    if (!block.http.empty()) object["http"] = std::move(block.http);
    all[one] = std::move(object);
  }
  return json::serialize(all) + "\n";
}

}  // namespace glovebox::client
