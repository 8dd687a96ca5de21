// The session that a client's own id names, in its project. The id is kept as the session's
// agent_id and nowhere else.
#pragma once

#include <memory>
#include <string>

#include "routing/app.h"
#include "routing/sandbox_creation.h"
#include "http/message.h"
#include "store/session_record.h"

namespace glovebox::workspace {

struct ClientSession {
  std::string id;     // the client's
  std::string agent;  // the same as an agent_id
  routing::Caller caller;
};
// Who asks, and for which; whether it is there is not looked at.
Result<ClientSession> client_session(routing::App& app, const http::Request& request);

// The living one. kNotFound with words that help.
Result<store::SessionRecord> find_record(routing::App& app, const ClientSession& wanted);

// From here on the request is about that sandbox, as if it had come to /v1/sandboxes/{id}/...
void send_on(http::Request& request, const store::SessionRecord& record);

// How long code and commands may run when they do not say.
std::chrono::milliseconds timeout_of(const routing::App& app, const store::SessionRecord& record);

}  // namespace glovebox::workspace
