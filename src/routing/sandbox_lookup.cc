#include "routing/sandbox_lookup.h"

namespace glovebox::routing {

Result<std::shared_ptr<node::Session>> SandboxLookup::session_of(
    const http::Request& request) const {
  TRY(const Caller caller, authenticator_.caller_of(request));
  return sessions_.use(caller.project, request.param("id"));
}

}  // namespace glovebox::routing
