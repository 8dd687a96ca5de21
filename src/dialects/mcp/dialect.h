// The Model Context Protocol at /mcp: streamable HTTP, one JSON-RPC message to a request. A
// client's conversation has a sandbox of its own, and a model works in it with six tools.
//
// Owns the conversations; they are in memory and bounded. Single-threaded, on the server's
// io_context. Errors of a request that is no message have the form of /v1.
#pragma once

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "dialects/mcp/code_tools.h"
#include "dialects/mcp/conversation_sandboxes.h"
#include "dialects/mcp/conversations.h"
#include "dialects/mcp/file_tools.h"
#include "dialects/mcp/message_routes.h"
#include "dialects/mcp/settings.h"
#include "dialects/mcp/toolbox.h"
#include "node/runs/run_service.h"
#include "routing/authenticator.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/sandbox_creation.h"
#include "routing/worker.h"
#include "sessions/contexts/context_table.h"
#include "sessions/processes/oom_kill_counter.h"
#include "sessions/processes/process_starter.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_networks.h"
#include "sessions/session_registry.h"
#include "sessions/sessions.h"
#include "templates/template_watcher.h"

namespace glovebox::mcp {

// All are borrowed and outlive the dialect.
struct Dependencies {
  asio::io_context& io;
  const node::RunService& node;
  const routing::Authenticator& authenticator;
  routing::SandboxCreation& creation;
  routing::LargeResponses& responses;
  routing::Worker& worker;
  sessions::Sessions& sessions;
  sessions::SessionRegistry& registry;
  sessions::SessionLifecycle& lifecycle;
  sessions::Contexts& contexts;
  sessions::ProcessStarter& processes;
  sessions::OomKillCounter& oom_kills;
  sessions::SessionNetworks& networks;
  templates::TemplateWatcher& watcher;
  MemoryBudget& memory_budget;
};

class Dialect {
 public:
  // `server_version` is what `initialize` answers.
  Dialect(const Dependencies& on, Settings settings, std::string server_version);
  Dialect(const Dialect&) = delete;
  Dialect& operator=(const Dialect&) = delete;

  // The dialect outlives the routes.
  void add_routes(routing::RouteTable& table);
  static void append_info(std::vector<routing::RouteInfo>& all);

  Conversations& conversations() { return conversations_; }

 private:
  const Settings settings_;
  Conversations conversations_;
  ConversationSandboxes sandboxes_;
  CodeTools code_tools_;
  FileTools file_tools_;
  Toolbox toolbox_;
  MessageRoutes messages_;
};

}  // namespace glovebox::mcp
