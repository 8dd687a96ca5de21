#include "routing/sandbox_lookup.h"

#include "routing/authentication.h"
#include "sessions/sessions.h"

namespace glovebox::routing {

Result<std::shared_ptr<node::Session>> session_of(App& app, const http::Request& request) {
  const auto who = principal_of(app, request);
  // It was good when the request was let in.
  if (!who) return fail(Errc::kPolicy, "the key is not good any more");
  TRY(const std::string project, project_of(*who, request));
  return app.sessions.use(project, request.param("id"));
}

}  // namespace glovebox::routing
