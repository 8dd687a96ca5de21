// The sandboxes of conversations: created at the first call that needs one, within the key's limits
// and with the limits of the server's settings, and found again by every later call.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "base/task.h"
#include "dialects/mcp/conversations.h"
#include "dialects/mcp/settings.h"
#include "http/message.h"
#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "routing/authenticator.h"
#include "routing/sandbox_creation.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_registry.h"
#include "sessions/sessions.h"

namespace glovebox::mcp {

class ConversationSandboxes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    const node::RunService& node;
    sessions::Sessions& sessions;
    sessions::SessionRegistry& registry;
    sessions::SessionLifecycle& lifecycle;
    routing::SandboxCreation& creation;
  };
  ConversationSandboxes(Dependencies dependencies, const Settings& settings)
      : deps_(dependencies), settings_(settings) {}

  // mcp.template, or which of the default templates works here: with packages one without others.
  std::string template_name(const SandboxOptions& options) const;

  // Running, for mcp.ttl from now. A paused sandbox is resumed; one that has ended is replaced by a
  // fresh one, and conversation.lost says so. The model sees the error's message.
  Task<std::shared_ptr<node::Session>> enter(http::Request& request, routing::Caller caller,
                                             std::shared_ptr<Conversation> conversation,
                                             std::shared_ptr<node::CancelFlag> cancel);

  // After a call: the sandbox lives for mcp.ttl from its end, also while other calls wait.
  asio::awaitable<void> keep(std::shared_ptr<Conversation> conversation);

  // True: there was one.
  Task<bool> end(std::shared_ptr<Conversation> conversation);

 private:
  bool is_usable(std::string_view template_name) const;
  // Whether its time was renewed so lately that it outlives any call: a call that begins now can
  // wait for others and then run, and is given up by then.
  bool is_kept(const Conversation& conversation) const;
  // Null: it has ended, and conversation.lost says why. An error: it exists and cannot be used now.
  Task<std::shared_ptr<node::Session>> find(std::shared_ptr<Conversation> conversation,
                                            std::shared_ptr<node::CancelFlag> cancel);
  sessions::CreateRequest create_request(const Conversation& conversation) const;

  const Dependencies deps_;
  const Settings& settings_;
};

}  // namespace glovebox::mcp
