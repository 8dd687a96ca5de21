// The tools that a model is offered. What goes wrong with code, commands and files is a result that
// says so (isError), because a model can do something about it; an error of the protocol is for
// what only the client's programmer can mend.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "dialects/mcp/call_stream.h"
#include "dialects/mcp/conversation.h"
#include "http/message.h"
#include "routing/app.h"
#include "routing/sandbox_creation.h"
#include "wire/json/object_reader.h"

namespace glovebox::mcp {

struct ToolResult {
  boost::json::array content;
  std::optional<boost::json::object> structured{};  // by the tool's outputSchema
  bool is_error = false;
};

// One call, for as long as it is answered.
struct ToolCall {
  routing::App& app;
  http::Request& request;
  routing::Caller caller;
  std::shared_ptr<Conversation> conversation;
  std::shared_ptr<node::CancelFlag> cancel;
  CallStream& stream;
  boost::json::value arguments;  // an object
};

struct Tool {
  std::string_view name;
  Task<ToolResult> (*run)(ToolCall& call);
};
// Null: there is no such tool.
const Tool* find_tool(std::string_view name);
// As tools/list gives them.
boost::json::array list_tools(const routing::App& app);
// What `initialize` tells the model of all of them.
std::string instructions(const routing::App& app);

// An Error of a tool becomes a result that says so.
asio::awaitable<boost::json::object> run_tool(const Tool& tool, ToolCall& call);

Task<ToolResult> run_code(ToolCall& call);
Task<ToolResult> run_command(ToolCall& call);
Task<ToolResult> read_file(ToolCall& call);
Task<ToolResult> write_file(ToolCall& call);
Task<ToolResult> list_files(ToolCall& call);
Task<ToolResult> reset_sandbox(ToolCall& call);

// `timeout_s` of the arguments: shorter than the server's, or nothing.
Result<std::chrono::milliseconds> read_timeout(const routing::App& app, wire::ObjectReader& fields);
boost::json::object text_block(std::string text);

}  // namespace glovebox::mcp
