// Admits requests that are routed to a sandbox by host name or header: to one of its ports, or to
// the agent API that a dialect serves on its own port. Only this class decides about admission.
//
// A paused sandbox whose metadata asks for it is resumed, but only by a request that shows the
// required credential: without it, no client can resume a sandbox whose ports are private. Nor can
// it find out that such a sandbox exists: the answer is the one for an unknown id.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/task.h"
#include "http/message.h"
#include "sessions/session_lifecycle.h"
#include "sessions/sessions.h"

namespace glovebox::routing {

class SandboxAccess {
 public:
  // Both are borrowed and outlive this.
  SandboxAccess(sessions::Sessions& sessions, sessions::SessionLifecycle& lifecycle)
      : sessions_(sessions), lifecycle_(lifecycle) {}

  // What a request may do with the sandbox that it names.
  enum class Rights : std::uint8_t {
    kNone,
    kUse,     // while it runs
    kResume,  // use it, and resume it if it is paused
  };
  // The request's rights, given the token of the sandbox's ports (empty: they are public, or there
  // is no such sandbox).
  using Authorize = std::function<Rights(const std::string& port_token)>;

  enum class Verdict : std::uint8_t {
    kAdmitted,
    kNotFound,      // it does not run, or its ports are private and the request has no rights
    kUnauthorized,  // it runs, its ports are public, and the request has no rights
    kMayResume,     // only of look_up: it does not run, and admit() would try to resume it
  };
  struct Admission {
    Verdict verdict = Verdict::kNotFound;
    std::shared_ptr<node::Session> session;  // set when admitted
    std::string host_mask{};                 // of the sandbox, see store::SessionRecord
  };
  asio::awaitable<Admission> admit(std::string id, Authorize rights_of);
  // The same without waiting, and so without resuming it.
  Admission look_up(std::string_view id, const Authorize& rights_of) const;

  // The project of the sandbox, whether it runs or not; empty: there is none.
  std::string project_of(std::string_view id) const { return sessions_.port_access(id).project; }
  // Empty: its ports are public, or there is no such sandbox.
  std::string port_token_of(std::string_view id) const { return sessions_.port_access(id).token; }

 private:
  sessions::Sessions& sessions_;
  sessions::SessionLifecycle& lifecycle_;
};

// The answer to a request that is not admitted: 502, which clients of a sandbox's own address take
// for a sandbox that has ended. It depends on nothing but the id that the client sent.
http::Response sandbox_not_found(const std::string& id);

}  // namespace glovebox::routing
