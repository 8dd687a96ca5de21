// The tools that a model is offered, by name. tool_list.h describes them.
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "base/task.h"
#include "dialects/mcp/code_tools.h"
#include "dialects/mcp/conversation_sandboxes.h"
#include "dialects/mcp/file_tools.h"
#include "dialects/mcp/tool_call.h"

namespace glovebox::mcp {

class Toolbox {
 public:
  // All are borrowed and outlive this.
  Toolbox(CodeTools& code, FileTools& files, ConversationSandboxes& sandboxes)
      : code_(code), files_(files), sandboxes_(sandboxes) {}

  struct Tool {
    std::string_view name;
    Task<ToolResult> (Toolbox::*run)(ToolCall& call);
  };
  // Null: there is no such tool.
  static const Tool* find(std::string_view name);

  // The result as tools/call answers it. An Error of the tool becomes a result with isError; a note
  // says when the sandbox is a fresh one. Afterwards the sandbox's time to live begins anew.
  asio::awaitable<boost::json::object> run(const Tool& tool, ToolCall& call);

 private:
  Task<ToolResult> run_code(ToolCall& call) { return code_.run_code(call); }
  Task<ToolResult> run_command(ToolCall& call) { return code_.run_command(call); }
  Task<ToolResult> read_file(ToolCall& call) { return files_.read_file(call); }
  Task<ToolResult> write_file(ToolCall& call) { return files_.write_file(call); }
  Task<ToolResult> list_files(ToolCall& call) { return files_.list_files(call); }
  Task<ToolResult> reset_sandbox(ToolCall& call);

  CodeTools& code_;
  FileTools& files_;
  ConversationSandboxes& sandboxes_;
};

}  // namespace glovebox::mcp
