// What requests need from the server's sessions: a running session, its environment, its log.
// SessionCreator creates sessions and SessionLifecycle changes them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "node/sessions/session_service.h"

namespace glovebox::sessions {

// A session as seen by requests that are routed to it by host name or header.
struct PortAccess {
  std::shared_ptr<node::Session> session;  // null: the session is not running
  std::string token;                       // empty: its ports are public
  std::string project;                     // empty: there is no such session
  std::string host_mask{};                 // see SessionRecord
};

class Sessions {
 public:
  virtual ~Sessions() = default;

  // A running session of the project. kNotFound; kConflict, with the state, if it is not running.
  // "*" means every project: only requests with an admin key get that far.
  virtual Result<std::shared_ptr<node::Session>> use(const std::string& project,
                                                     std::string_view id) = 0;
  // The environment of a program in it: the base environment, the template's, the session's.
  virtual std::vector<std::string> environment(const SandboxId& id) const = 0;
  // One line for GET …/logs.
  virtual void note(const SandboxId& id, std::string_view kind, std::string message,
                    std::uint64_t process = 0) = 0;
  // For any id. The token is known until the session ends, even while it is not running.
  virtual PortAccess port_access(std::string_view id) = 0;
};

}  // namespace glovebox::sessions
