// read_file, write_file, list_files: through the helper inside the sandbox, as the sandbox's user.
#pragma once

#include "base/memory_budget.h"
#include "base/task.h"
#include "dialects/mcp/conversation_sandboxes.h"
#include "dialects/mcp/settings.h"
#include "dialects/mcp/tool_call.h"

namespace glovebox::mcp {

class FileTools {
 public:
  // All are borrowed and outlive this.
  FileTools(ConversationSandboxes& sandboxes, MemoryBudget& memory_budget, const Settings& settings)
      : sandboxes_(sandboxes), memory_budget_(memory_budget), settings_(settings) {}

  Task<ToolResult> read_file(ToolCall& call);
  Task<ToolResult> write_file(ToolCall& call);
  Task<ToolResult> list_files(ToolCall& call);

 private:
  Task<std::shared_ptr<node::Session>> enter(ToolCall& call);

  ConversationSandboxes& sandboxes_;
  MemoryBudget& memory_budget_;
  const Settings& settings_;
};

}  // namespace glovebox::mcp
