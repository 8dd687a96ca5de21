// The server's sessions: records in the store, sandboxes on the node, and what keeps the two the
// same: every state change is stored before it is answered, a reaper ends what is past its time,
// and a reconciler compares both every few seconds and at the start.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "node/session_service.h"

namespace glovebox::control {

class Sessions {
 public:
  virtual ~Sessions() = default;

  // The project's own session, running. kNotFound; kConflict in any other state, which it says.
  // ("*" is every project: only an admin key gets that far.)
  virtual Result<std::shared_ptr<node::Session>> use(const std::string& project,
                                                     std::string_view id) = 0;
  // What a program in it starts with: the base environment, the template's, the session's.
  virtual std::vector<std::string> environment(const SandboxId& id) const = 0;
  // One line for GET …/logs.
  virtual void note(const SandboxId& id, std::string_view kind, std::string message,
                    std::uint64_t process = 0) = 0;
  // For requests that are routed by host or header: who may come in. Null: there is none running.
  struct Door {
    std::shared_ptr<node::Session> session;
    std::string token;  // empty: open
  };
  virtual Door door(std::string_view id) = 0;
};

}  // namespace glovebox::control
