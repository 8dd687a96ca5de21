// POST, GET and DELETE /mcp: streamable HTTP, one message to a request. A mistake in the request
// itself has a status of its own; an error of a method is a 200 with an error in it, as JSON-RPC
// demands.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/memory_budget.h"
#include "base/task.h"
#include "dialects/mcp/conversation_sandboxes.h"
#include "dialects/mcp/conversations.h"
#include "dialects/mcp/json_rpc.h"
#include "dialects/mcp/settings.h"
#include "dialects/mcp/toolbox.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "templates/template_watcher.h"

namespace glovebox::mcp {

class MessageRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    const routing::Authenticator& authenticator;
    templates::TemplateWatcher& watcher;
    routing::LargeResponses& responses;
    routing::Worker& worker;  // for large messages
    MemoryBudget& memory_budget;
    Conversations& conversations;
    ConversationSandboxes& sandboxes;
    Toolbox& toolbox;
  };
  MessageRoutes(Dependencies dependencies, const Settings& settings, std::string server_version)
      : deps_(dependencies), settings_(settings), server_version_(std::move(server_version)) {}

  static std::span<const routing::RouteRow<MessageRoutes>> rows();

  Task<http::Response> post_message(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> open_stream(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> end_conversation(http::Request& request, http::ResponseWriter& writer);

 private:
  struct Found {
    std::shared_ptr<Conversation> conversation;  // null: see refusal
    std::optional<http::Response> refusal{};
  };
  Found find_conversation(const http::Request& request, const std::string& project);
  Task<http::Response> initialize(http::Request& request, routing::Caller caller, Message message);
  Task<http::Response> answer_request(http::Request& request, http::ResponseWriter& writer,
                                      routing::Caller caller,
                                      std::shared_ptr<Conversation> conversation, Message message);
  Task<http::Response> call_tool(http::Request& request, http::ResponseWriter& writer,
                                 routing::Caller caller, std::shared_ptr<Conversation> conversation,
                                 Message message);

  const Dependencies deps_;
  const Settings& settings_;
  const std::string server_version_;
};

}  // namespace glovebox::mcp
