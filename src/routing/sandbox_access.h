// Admits requests that are routed to a sandbox by host name or header: to one of its ports, or to
// the agent API that a dialect serves on its own port. Only this class decides about admission.
//
// A paused sandbox whose metadata asks for it is resumed, but only by a request that shows the
// required credential: without it, no client can resume a sandbox whose ports are private.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/task.h"
#include "sessions/session_lifecycle.h"
#include "sessions/sessions.h"

namespace glovebox::routing {

class SandboxAccess {
 public:
  // Both are borrowed and outlive this.
  SandboxAccess(sessions::Sessions& sessions, sessions::SessionLifecycle& lifecycle)
      : sessions_(sessions), lifecycle_(lifecycle) {}

  enum class Verdict : std::uint8_t { kAdmitted, kNotRunning, kUnauthorized };
  struct Admission {
    Verdict verdict = Verdict::kNotRunning;
    std::shared_ptr<node::Session> session;  // set when admitted
  };
  // `is_authorized` returns whether the request has the required credential, given the token of the
  // sandbox's ports (empty: they are public). A sandbox that is not running is always kNotRunning.
  using Authorize = std::function<bool(const std::string& port_token)>;
  asio::awaitable<Admission> admit(std::string id, Authorize is_authorized);

 private:
  sessions::Sessions& sessions_;
  sessions::SessionLifecycle& lifecycle_;
};

}  // namespace glovebox::routing
