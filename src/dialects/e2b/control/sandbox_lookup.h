// What the handlers of E2B's control plane share: the sandbox that a request is about, and errors
// as these clients read them.
#pragma once

#include <string>

#include "base/task.h"
#include "routing/app.h"
#include "http/message.h"
#include "store/session_record.h"

namespace glovebox::e2b {

// The parameter "id" as it is, for messages and for looking up.
std::string sandbox_id_of(const http::Request& request);

// Running or paused. What has ended is not there for these clients: kNotFound.
Task<store::SessionRecord> find_sandbox(routing::App& app, std::string project, std::string id);
Error sandbox_not_found(const std::string& id);
// The error of a change to a sandbox that was there a moment ago. A time beyond the administrator's
// ceiling is the request's mistake.
Error change_error(Error error, const std::string& id);

// The refusal of a creation as {"code","message"}, with what it says of when to come again.
http::Response creation_refusal(const http::Response& refused);
// The same answer would come again: clients should not try on their own.
http::Response without_retry(http::Response response);

}  // namespace glovebox::e2b
