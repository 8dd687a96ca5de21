// The sandbox of a conversation: made at the first call that needs one, within the key's limits and
// of what the server's settings say, and found again by every later call.
#pragma once

#include <memory>
#include <string>

#include "base/task.h"
#include "dialects/mcp/conversation.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "routing/app.h"
#include "routing/sandbox_creation.h"

namespace glovebox::mcp {

// What mcp.template says, or which of ours works here.
std::string template_of(const routing::App& app);

// Running, for mcp.ttl from now. One that is paused goes on; one that has ended is replaced by a
// fresh one, and conversation.lost says so. An error is what the model is told.
Task<std::shared_ptr<node::Session>> enter_sandbox(routing::App& app, http::Request& request, routing::Caller caller,
                                                   std::shared_ptr<Conversation> conversation,
                                                   std::shared_ptr<node::CancelFlag> cancel);

// After a call: the sandbox lives for mcp.ttl from its end, also while others wait for their turn.
asio::awaitable<void> keep_sandbox(routing::App& app, std::shared_ptr<Conversation> conversation);

// True: there was one.
Task<bool> end_sandbox(routing::App& app, std::shared_ptr<Conversation> conversation);

}  // namespace glovebox::mcp
