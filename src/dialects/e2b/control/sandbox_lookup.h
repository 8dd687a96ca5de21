// What the routes of E2B's control plane share: the sandbox that a request is about, and the
// refusals of changes to it.
#pragma once

#include <string>

#include "base/task.h"
#include "http/message.h"
#include "sessions/session_registry.h"
#include "store/session_record.h"

namespace glovebox::e2b {

// The path parameter "id", unchecked.
std::string sandbox_id_of(const http::Request& request);

// Running or paused. To these clients a sandbox that has ended does not exist: kNotFound.
Task<store::SessionRecord> find_sandbox(sessions::SessionRegistry& registry, std::string project,
                                        std::string id);
Error sandbox_not_found(const std::string& id);
// The error of a change to a sandbox that existed a moment ago. A timeout beyond the
// administrator's limit is the caller's mistake.
Error change_error(Error error, const std::string& id);

// The refusal of a creation in E2B's form, with its Retry-After.
http::Response creation_refusal(const http::Response& refused);
// Tells clients not to repeat the request: the answer would be the same.
http::Response without_retry(http::Response response);

}  // namespace glovebox::e2b
