#include "dialects/mcp/tool_list.h"

#include <chrono>
#include <string_view>

#include "packages/package_set_key.h"
#include "sessions/contexts/context_languages.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;

// "$timeout" and "$limit" are replaced by the server's own limits, "$languages" by their names;
// list_tools() adds the maximum of `timeout_s` and `limit` to the schemas.
constexpr std::string_view kTools = R"json([
{
  "name": "run_code",
  "title": "Run code",
  "description": "Run Python, JavaScript, Bash, TypeScript, R or Java code in this conversation's sandbox and get what it printed, the value of its last expression, its figures as images, and its traceback if it failed. State is kept: variables, imports and functions of one call are there in the next one of the same language, like in a notebook. Files are kept too, and are shared by all tools. Use it for calculations, data analysis and plots. For plots with matplotlib just draw; open figures are shown at the end.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "code": {"type": "string", "description": "The code. End with an expression to get its value."},
      "language": {"type": "string", "enum": [$languages], "default": "python", "description": "Each language has a state of its own. Those but python, bash and javascript may not be installed; the error then says so."},
      "timeout_s": {"type": "number", "exclusiveMinimum": 0, "description": "Stop the code after this many seconds. Default and maximum: $timeout. Stopped code keeps its variables."}
    },
    "required": ["code"],
    "additionalProperties": false
  },
  "annotations": {"title": "Run code", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false}
},
{
  "name": "run_command",
  "title": "Run a command",
  "description": "Run one Bash command line in this conversation's sandbox and get its exit code, stdout and stderr. Every call is a new shell in /home/user: `cd` and shell variables do not last, files do. To leave something running, put it in the background and redirect its output: `server > log 2>&1 &`.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "command": {"type": "string", "minLength": 1, "description": "A command line for bash -c; pipes and redirections work."},
      "cwd": {"type": "string", "description": "The working directory; absolute. Default: /home/user"},
      "stdin": {"type": "string", "description": "What the command reads from its standard input."},
      "timeout_s": {"type": "number", "exclusiveMinimum": 0, "description": "Kill the command after this many seconds. Default and maximum: $timeout."}
    },
    "required": ["command"],
    "additionalProperties": false
  },
  "outputSchema": {
    "type": "object",
    "properties": {
      "exit_code": {"type": "integer", "description": "0: success; 128 + n: killed by signal n; 124: it took too long"},
      "stdout": {"type": "string"},
      "stderr": {"type": "string"},
      "timed_out": {"type": "boolean"},
      "out_of_memory": {"type": "boolean"},
      "truncated": {"type": "boolean", "description": "part of the output was too long and is left out"},
      "duration_ms": {"type": "number"},
      "note": {"type": "string", "description": "what you must know about the sandbox"}
    },
    "required": ["exit_code", "stdout", "stderr", "timed_out", "out_of_memory", "truncated", "duration_ms"],
    "additionalProperties": false
  },
  "annotations": {"title": "Run a command", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false}
},
{
  "name": "read_file",
  "title": "Read a file",
  "description": "Read a file of this conversation's sandbox. Text comes as text, PNG, JPEG, GIF and WebP as an image, anything else as base64. Long files come in parts: the result says how to get the next one.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "path": {"type": "string", "minLength": 1, "description": "Absolute, or below /home/user."},
      "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The first byte."},
      "limit": {"type": "integer", "minimum": 1, "description": "How many bytes at most. Default and maximum: $limit."}
    },
    "required": ["path"],
    "additionalProperties": false
  },
  "annotations": {"title": "Read a file", "readOnlyHint": true, "openWorldHint": false}
},
{
  "name": "write_file",
  "title": "Write a file",
  "description": "Write a file in this conversation's sandbox, whole or not at all. Missing directories are created; an existing file is replaced.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "path": {"type": "string", "minLength": 1, "description": "Absolute, or below /home/user."},
      "content": {"type": "string", "description": "All of the file."},
      "encoding": {"type": "string", "enum": ["utf-8", "base64"], "default": "utf-8", "description": "base64: the content is the base64 of the file's bytes."}
    },
    "required": ["path", "content"],
    "additionalProperties": false
  },
  "outputSchema": {
    "type": "object",
    "properties": {
      "path": {"type": "string"},
      "bytes": {"type": "integer"},
      "note": {"type": "string", "description": "what you must know about the sandbox"}
    },
    "required": ["path", "bytes"],
    "additionalProperties": false
  },
  "annotations": {"title": "Write a file", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}
},
{
  "name": "list_files",
  "title": "List files",
  "description": "List a directory of this conversation's sandbox, with types and sizes.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "path": {"type": "string", "minLength": 1, "default": "/home/user", "description": "Absolute, or below /home/user."},
      "depth": {"type": "integer", "minimum": 1, "maximum": 16, "default": 1, "description": "1: the directory itself; more: also the directories below it."}
    },
    "additionalProperties": false
  },
  "outputSchema": {
    "type": "object",
    "properties": {
      "entries": {
        "type": "array",
        "items": {
          "type": "object",
          "properties": {
            "path": {"type": "string", "description": "below the directory that was listed"},
            "type": {"type": "string", "enum": ["file", "directory", "symlink", "other"]},
            "size": {"type": "integer"},
            "target": {"type": "string", "description": "of a symlink"}
          },
          "required": ["path", "type", "size"],
          "additionalProperties": false
        }
      },
      "truncated": {"type": "boolean", "description": "there are more than are listed"},
      "note": {"type": "string", "description": "what you must know about the sandbox"}
    },
    "required": ["entries", "truncated"],
    "additionalProperties": false
  },
  "annotations": {"title": "List files", "readOnlyHint": true, "openWorldHint": false}
},
{
  "name": "reset_sandbox",
  "title": "Reset the sandbox",
  "description": "Destroy this conversation's sandbox, with all variables, files and processes in it. The next call gets a fresh one. Use it when something is broken beyond repair.",
  "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
  "annotations": {"title": "Reset the sandbox", "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}
}
])json";

std::string seconds_text(std::chrono::milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  const auto rest = time.count() % 1000;
  return rest == 0 ? text : text + "." + std::to_string(rest / 100);
}

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

std::string network_text(const net::NetPolicy& policy) {
  if (policy.is_none()) {
    return "There is no network inside, so nothing can be downloaded or installed from the "
           "internet.";
  }
  return "The network inside is restricted to " + net::canonical_text(policy) +
         "; everything else is refused.";
}

std::string quoted_languages() {
  std::string list;
  for (const std::string_view name : sessions::language_names()) {
    list += (list.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  }
  return list;
}

std::string packages_text(const glovebox::Dependencies& dependencies) {
  if (dependencies.empty()) return "";
  return "These packages are installed: " + packages::asked_text(dependencies) +
         "; the first call may have to wait for their installation. ";
}

}  // namespace

json::array list_tools(const Settings& settings) {
  std::string text(kTools);
  replace_all(text, "$timeout", seconds_text(settings.timeout));
  replace_all(text, "$limit", std::to_string(settings.max_output));
  replace_all(text, "$languages", quoted_languages());
  json::array tools = json::parse(text).as_array();
  const json::object bounds{{"timeout_s", static_cast<double>(settings.timeout.count()) / 1000.0},
                            {"limit", settings.max_output}};
  for (json::value& tool : tools) {
    json::object& properties = tool.at("inputSchema").at("properties").as_object();
    for (const auto& [name, most] : bounds) {
      json::value* property = properties.if_contains(name);
      if (property != nullptr) property->as_object()["maximum"] = most;
    }
  }
  return tools;
}

std::string instructions(const Settings& settings, const std::string& template_name,
                         const SandboxOptions& options) {
  const bool is_image = !options.image.empty();
  return "These tools work in a sealed Linux sandbox of this conversation's own, created from "
         "the " +
         std::string(is_image ? "image \"" : "template \"") +
         (is_image ? options.image : template_name) +
         "\" when a tool first needs it. Variables (run_code), files (below /home/user) and "
         "background processes stay from one call to the next; nothing there touches the user's "
         "own computer, and the user does not see its files unless you show them. " +
         packages_text(options.dependencies) + network_text(options.net) + " One call may take " +
         seconds_text(settings.timeout) +
         " s at most. Calls of run_code in one language run one after the other; everything else "
         "may run in parallel. The sandbox ends " +
         std::to_string(settings.ttl_s) +
         " s after the last call; when a result says that it is a fresh one, what was there before "
         "is gone. If code fails, the result has its traceback: fix the code and run it again.";
}

}  // namespace glovebox::mcp
