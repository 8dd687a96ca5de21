// run_code: a cell in the language's own context of the conversation's sandbox, whose state lasts.
// run_command: a shell of its own.
#pragma once

#include "base/memory_budget.h"
#include "base/task.h"
#include "dialects/mcp/conversation_sandboxes.h"
#include "dialects/mcp/settings.h"
#include "dialects/mcp/tool_call.h"
#include "sessions/contexts/context_table.h"
#include "sessions/processes/oom_kill_counter.h"
#include "sessions/processes/process_starter.h"
#include "sessions/session_networks.h"
#include "sessions/sessions.h"

namespace glovebox::mcp {

class CodeTools {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    ConversationSandboxes& sandboxes;
    sessions::Sessions& sessions;
    sessions::Contexts& contexts;
    sessions::ProcessStarter& processes;
    sessions::OomKillCounter& oom_kills;
    sessions::SessionNetworks& networks;
    MemoryBudget& memory_budget;
  };
  CodeTools(Dependencies dependencies, const Settings& settings)
      : deps_(dependencies), settings_(settings) {}

  Task<ToolResult> run_code(ToolCall& call);
  Task<ToolResult> run_command(ToolCall& call);

 private:
  // Adds to a result that is an error what the network policy has refused since `began_ms`.
  asio::awaitable<void> add_refusals(ToolResult& result, const ToolCall& call, std::string sandbox,
                                     std::int64_t began_ms);

  const Dependencies deps_;
  const Settings& settings_;
};

}  // namespace glovebox::mcp
