// Finds the session that a client's own id names, in its project. The id is stored as the session's
// agent_id and nowhere else.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "dialects/workspace/settings.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "routing/authenticator.h"
#include "sessions/session_registry.h"
#include "sessions/sessions.h"
#include "store/session_record.h"

namespace glovebox::workspace {

// Who asks, and for which session; it need not exist.
struct ClientSession {
  std::string id;     // the client's
  std::string agent;  // the same as an agent_id
  routing::Caller caller;
};

class ClientSessions {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    const sessions::SessionRegistry& registry;
    sessions::Sessions& sessions;
  };
  ClientSessions(Dependencies dependencies, const Settings& settings)
      : deps_(dependencies), settings_(settings) {}

  // Of the path parameter "session_id". kInvalidArgument: a malformed id.
  Result<ClientSession> parse(const http::Request& request) const;
  // The living session. kNotFound, with a message that says how to create it.
  Result<store::SessionRecord> find(const ClientSession& wanted) const;
  // The same, running. Errors as find()'s and Sessions::use()'s.
  Result<std::shared_ptr<node::Session>> use(const ClientSession& wanted) const;
  Result<std::shared_ptr<node::Session>> use(const ClientSession& wanted,
                                             const store::SessionRecord& record) const;

  // How long code and commands may run when the request does not say.
  std::chrono::milliseconds default_timeout(const store::SessionRecord& record) const;

 private:
  const Dependencies deps_;
  const Settings& settings_;
};

}  // namespace glovebox::workspace
