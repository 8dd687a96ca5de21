// Finds the session that a request names: it must belong to the caller's project and be running.
#pragma once

#include <memory>

#include "base/result.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "routing/authenticator.h"
#include "sessions/sessions.h"

namespace glovebox::routing {

class SandboxLookup {
 public:
  // Both are borrowed and outlive this.
  SandboxLookup(const Authenticator& authenticator, sessions::Sessions& sessions)
      : authenticator_(authenticator), sessions_(sessions) {}

  // Reads the path parameter "id". kPermissionDenied: the key was revoked meanwhile; other errors
  // as Sessions::use().
  Result<std::shared_ptr<node::Session>> session_of(const http::Request& request) const;

 private:
  const Authenticator& authenticator_;
  sessions::Sessions& sessions_;
};

}  // namespace glovebox::routing
