// What requests need of the server's sessions: a running one, its environment, its log. Creating
// and changing them is SessionCreator's and SessionLifecycle's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "node/sessions/session_service.h"

namespace glovebox::sessions {

// A session as requests reach it that are routed to it by host name or header.
struct PortAccess {
  std::shared_ptr<node::Session> session;  // null: it does not run
  std::string token;                       // empty: its ports are public
};

class Sessions {
 public:
  virtual ~Sessions() = default;

  // The project's own running session. kNotFound; kConflict, with the state, if it does not run.
  // "*" is every project: only an admin key gets that far.
  virtual Result<std::shared_ptr<node::Session>> use(const std::string& project,
                                                     std::string_view id) = 0;
  // What a program in it starts with: the base environment, the template's, the session's.
  virtual std::vector<std::string> environment(const SandboxId& id) const = 0;
  // One line for GET …/logs.
  virtual void note(const SandboxId& id, std::string_view kind, std::string message,
                    std::uint64_t process = 0) = 0;
  // Of any id; the token of a session that does not run is known as long as it lives.
  virtual PortAccess port_access(std::string_view id) = 0;
};

}  // namespace glovebox::sessions
